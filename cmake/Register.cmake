# VW's registry, the reductions that must know of FastCB and VW's Python binding, each with its changes, as files of our
# build. They are compiled with our sources and stand ahead of VW's archive, so that the linker takes them instead of the
# originals.
#
#   patch_vw(<file of the engine> <text that must be there once> <replacement>)   collects them in VW_PATCHED_SOURCES

set(VW_PATCHED_SOURCES "")
set(VW_PYLIBVW_SOURCE "${CMAKE_CURRENT_BINARY_DIR}/vw/pylibvw.cc")

function(patch_vw file place replacement)
  set(patched "${CMAKE_CURRENT_BINARY_DIR}/vw/${file}")
  if(EXISTS "${patched}" AND patched IN_LIST VW_PATCHED_SOURCES)
    file(READ "${patched}" text)
  else()
    file(READ "${VW_ENGINE_DIR}/${file}" text)
  endif()
  string(FIND "${text}" "${place}" first)
  string(FIND "${text}" "${place}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "vw-fastcb: VW's ${file} does not have, exactly once, the place where FastCB is inserted:\n${place}")
  endif()
  string(REPLACE "${place}" "${replacement}" text "${text}")
  file(WRITE "${patched}.new" "${text}")
  file(COPY_FILE "${patched}.new" "${patched}" ONLY_IF_DIFFERENT)  # what did not change is not compiled again
  list(APPEND VW_PATCHED_SOURCES "${patched}")
  list(REMOVE_DUPLICATES VW_PATCHED_SOURCES)
  set(VW_PATCHED_SOURCES "${VW_PATCHED_SOURCES}" PARENT_SCOPE)
endfunction()

set(include_fastcb "#include \"reduction/fastcb.h\"\n")

# The stack: above VW's explorers, below what samples from them.
set(place "  reductions.push_back(VW::reductions::cb_explore_adf_bag_setup);\n")
patch_vw(core/src/reduction_stack.cc "${place}"
  "${place}  reductions.push_back(VW::reductions::cb_explore_adf_fastcb_setup);
  reductions.push_back(VW::reductions::cb_explore_fastcb_setup);\n")
set(place "#include \"vw/core/reduction_stack.h\"\n")
patch_vw(core/src/reduction_stack.cc "${place}" "${place}${include_fastcb}")

# Checks of whole events, above what translates slates and conditional bandits.
set(place "  reductions.push_back(VW::reductions::slates_setup);\n")
patch_vw(core/src/reduction_stack.cc "${place}"
  "${place}  reductions.push_back(VW::reductions::fastcb_event_check_setup);\n")

# Epsilon-greedy makes itself the explorer unless it knows the one that was asked for.
set(place "options.was_supplied(\"graph_feedback\")")
patch_vw(core/src/reductions/cb/cb_explore_adf_greedy.cc "${place}" "${place} || options.was_supplied(\"fastcb\")")

# FastCB merges shared features itself, into the chosen action only.
set(place "#include \"vw/core/reductions/shared_feature_merger.h\"\n")
patch_vw(core/src/reductions/shared_feature_merger.cc "${place}" "${place}${include_fastcb}")
set(place "  if (base == nullptr) { return nullptr; }\n")
patch_vw(core/src/reductions/shared_feature_merger.cc "${place}"
  "${place}  if (fastcb_takes_shared_features(*base)) { return base; }\n")

# This setup runs before those of the other reductions, so it is also where combinations are refused.
set(place "#include \"vw/core/reductions/cb/cb_to_cb_adf.h\"\n")
patch_vw(core/src/reductions/cb/cb_to_cb_adf.cc "${place}" "${place}${include_fastcb}")
# Fixed actions would be translated to copied examples, which also merges features named by integers.
set(place "  if (options.was_supplied(\"eval\")) { return nullptr; }\n")
patch_vw(core/src/reductions/cb/cb_to_cb_adf.cc "${place}"
  "  fastcb_check_flags(options);\n${place}  if (options.was_supplied(\"fastcb\") && !options.was_supplied(\"cb_explore_adf\")) { return nullptr; }\n")

# cbify knows the range of the costs it makes.
set(place "  if (data->use_adf && (options.was_supplied(\"regcb\")")
patch_vw(core/src/reductions/cb/cbify.cc "${place}"
  "  fastcb_use_cbify_costs(options, data->loss0, data->loss1, data->flip_loss_sign);\n${place}")
set(place "#include \"vw/core/reductions/cb/cbify.h\"\n")
patch_vw(core/src/reductions/cb/cbify.cc "${place}" "${place}${include_fastcb}")

# What VW's JSON parsers cut, drop or skip in silence is refused.
set(json json_parser/src/parse_example_json.cc)
set(place "#include \"vw/json_parser/parse_example_json.h\"\n")
patch_vw(${json} "${place}" "${place}#include \"reduction/json_events.h\"\n")
set(place "    else if (!_stricmp(ctx.key, \"Action\"))\n    {\n")
patch_vw(${json} "${place}" "${place}      if (vw_fastcb::refuses_action(ctx, v)) { return nullptr; }\n")
set(place "Float(Context<audit>& /* ctx */, float f) override\n  {\n    output_array->push_back(static_cast<T>(f));\n")
patch_vw(${json} "${place}" "Float(Context<audit>& ctx, float f) override
  {
    if (std::is_integral<T>::value && vw_fastcb::refuses_action(ctx, f)) { return nullptr; }
    output_array->push_back(static_cast<T>(f));\n")
set(place "    output_array->push_back(std::numeric_limits<T>::quiet_NaN());\n")
patch_vw(${json} "${place}"
  "    if (std::is_integral<T>::value && vw_fastcb::refuses_action(ctx, NAN)) { return nullptr; }\n${place}")
patch_vw(${json} "if (line[0] != '{') { return false; }"
  "if (vw_fastcb::skips_line(*all, line, line[0] != '{')) { return false; }")
set(place "  else\n  {\n    VW::parsers::json::template read_line_json<audit>(\n")
patch_vw(${json} "${place}"
  "  else if (vw_fastcb::skips_line(*all, line, false)) { return false; }\n${place}")
set(place "    if (!result)\n    {\n")
patch_vw(${json} "${place}" "    vw_fastcb::check_drop_probability(*all, interaction.probability_of_drop);\n${place}")
set(place "\n  return apply_pdrop(\n")
patch_vw(${json} "${place}" "\n  vw_fastcb::refuse_lost_label(all, handler.ctx.label_object_state.found_cb);${place}")
set(place "      inc.clear();\n\n")
patch_vw(${json} "${place}" "${place}      const bool logged = ctx.root_state == &ctx.slot_outcome_list_state;
      vw_fastcb::check_slot_label(ctx._label_parser, actions.size(), probs.size(), logged && cb_label.cost != FLT_MAX);\n")
foreach(state IN ITEMS Multi Slots)
  set(place "  ${state}State() : BaseState<audit>(\"${state}\") {}\n")
  patch_vw(${json} "${place}" "${place}
  BaseState<audit>* Null(Context<audit>& ctx) override
  {
    return vw_fastcb::refuses_null(ctx) ? nullptr : BaseState<audit>::Null(ctx);
  }\n")
endforeach()
# Stock VW crashes here: on a value where an object belongs, and on a namespace whose name begins outside of ASCII.
set(place "CurrentNamespace() { return namespace_path.back(); }")
patch_vw(${json} "${place}" "CurrentNamespace()
  {
    if (namespace_path.empty()) { THROW(\"bad event: a value stands where an object is expected.\"); }
    return namespace_path.back();
  }")
set(place "interaction.actions.size() == 0 && all->l->is_multiline()")
patch_vw(${json} "${place}" "${place} && vw_fastcb::skips_event_without_ids(*all, examples)")

set(json json_parser/src/json_utils.h)
patch_vw(${json} "  char feature_group;\n" "  unsigned char feature_group;\n")
patch_vw(${json} "ex->feature_space.data() + ns[0]" "ex->feature_space.data() + static_cast<unsigned char>(ns[0])")

set(json json_parser/src/parse_example_slates_json.cc)
set(place "#include \"vw/json_parser/parse_example_slates_json.h\"\n")
patch_vw(${json} "${place}" "${place}#include \"reduction/slates_json.h\"\n")
set(place "  // Build shared example\n  const Value& context = document.GetObject();\n")
patch_vw(${json} "${place}" "  vw_fastcb::check_slates_json(lbl_parser, document, false);\n${place}")
set(place "  // Build shared example\n  const Value& context = document[\"c\"].GetObject();\n")
patch_vw(${json} "${place}"
  "  vw_fastcb::check_slates_json(all.parser_runtime.example_parser->lbl_parser, document, true);\n${place}")

# VW removes the old model before it renames the new one to its place: a kill between the two would lose both names.
patch_vw(core/src/parse_regressor.cc "  remove(reg_name.c_str());\n" "")

# The Python binding knows a label by its parser, and FastCB's parsers of bandit labels are its own.
patch_vw(pylibvw.cc "lp->parse_label == VW::cb_label_parser_global.parse_label"
  "lp->label_type == VW::label_type_t::CB")
patch_vw(pylibvw.cc "lp->parse_label == VW::ccb_label_parser_global.parse_label"
  "lp->label_type == VW::label_type_t::CCB")
patch_vw(pylibvw.cc "lp->parse_label == VW::slates::slates_label_parser.parse_label"
  "lp->label_type == VW::label_type_t::SLATES")
set(place "    case lCONTEXTUAL_BANDIT:\n")
patch_vw(pylibvw.cc "${place}      return &VW::cb_label_parser_global;"
  "${place}      if (all->parser_runtime.example_parser->lbl_parser.label_type == VW::label_type_t::CB)
      {
        return &all->parser_runtime.example_parser->lbl_parser;
      }
      return &VW::cb_label_parser_global;")
# Where an event read from a file is refused, the parser thread must be ended, not abandoned: that aborts the process.
patch_vw(pylibvw.cc "  VW::start_parser(*all);\n  VW::LEARNER::generic_driver(*all);\n  VW::end_parser(*all);\n"
  "  vw_fastcb::running_parser parser(*all);\n  VW::LEARNER::generic_driver(*all);\n")
set(place "#include \"vw/core/reductions/gd.h\"\n")
patch_vw(pylibvw.cc "${place}" "${place}#include \"cli/running_parser.h\"\n")
list(REMOVE_ITEM VW_PATCHED_SOURCES "${VW_PYLIBVW_SOURCE}")

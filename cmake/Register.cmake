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
patch_vw(core/src/reduction_stack.cc "${place}" "${place}${include_fastcb}#include \"reading/stage.h\"\n")

# The checks of whole events, above everything.
set(place "  reductions.push_back(VW::reductions::count_label_setup);\n")
patch_vw(core/src/reduction_stack.cc "${place}" "${place}  reductions.push_back(VW::reductions::fastcb_strict_setup);\n")

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

# Gamma may be given anew with a model.
set(place "  auto parsed_model_command_line = parse_model_command_line_legacy(strings);\n")
patch_vw(core/src/parse_args.cc "${place}"
  "${place}  VW::reductions::fastcb_prefer_new_gamma(parsed_model_command_line, options);\n")
set(place "#include \"vw/core/parse_args.h\"\n")
patch_vw(core/src/parse_args.cc "${place}" "${place}${include_fastcb}")

# cbify knows the range of the costs it makes.
set(place "  if (data->use_adf && (options.was_supplied(\"regcb\")")
patch_vw(core/src/reductions/cb/cbify.cc "${place}"
  "  fastcb_use_cbify_costs(options, data->loss0, data->loss1, data->flip_loss_sign);\n${place}")
set(place "#include \"vw/core/reductions/cb/cbify.h\"\n")
patch_vw(core/src/reductions/cb/cbify.cc "${place}" "${place}${include_fastcb}")

# A namespace whose name begins outside of ASCII has a negative number here, and stock VW writes before its features.
set(json json_parser/src/json_utils.h)
patch_vw(${json} "  char feature_group;\n" "  unsigned char feature_group;\n")
patch_vw(${json} "ex->feature_space.data() + ns[0]" "ex->feature_space.data() + static_cast<unsigned char>(ns[0])")
set(place "#include \"vw/json_parser/parse_example_json.h\"\n")
patch_vw(json_parser/src/parse_example_json.cc "${place}" "${place}// Compiled again for the sake of json_utils.h.\n")
# Slates: stock VW writes the name of a feature into the memory before its text, which belongs to something else.
patch_vw(json_parser/src/parse_example_slates_json.cc
  "        char* prepend = const_cast<char*>(str) - key_namespace_length;
        std::memmove(prepend, key_namespace, key_namespace_length);
        namespaces.back().add_feature(prepend, hash_func, parse_mask);\n"
  "        const auto name = std::string(key_namespace, key_namespace_length) + str;
        namespaces.back().add_feature(name.c_str(), hash_func, parse_mask);\n")

# An event that a learner below refuses must not leave its examples behind for the next one.
set(place "  data.shared = nullptr;\n  data.actions.clear();\n")
patch_vw(core/src/reductions/conditional_contextual_bandit.cc "${place}" "  data.cb_ex.clear();\n${place}")

# That there is nothing more to read is said by the parser's thread or by the learner, and the former looks for it.
set(dispatch include/vw/core/parse_dispatch_loop.h)
patch_vw(${dispatch} "(!all.parser_runtime.example_parser->done)"
  "(!__atomic_load_n(&all.parser_runtime.example_parser->done, __ATOMIC_RELAXED))")
patch_vw(core/src/parser.cc "  p.done = true;\n" "  __atomic_store_n(&p.done, true, __ATOMIC_RELAXED);\n")
set(place "#include \"vw/core/parse_dispatch_loop.h\"\n")
patch_vw(core/src/vw.cc "${place}" "#include \"${CMAKE_CURRENT_BINARY_DIR}/vw/${dispatch}\"\n")

# Models go through model_file. VW itself removes the old model before the new one takes its place, so that a kill between
# the two loses both names; two processes that save to one path write into the same temporary file; and a save that fails
# leaves that file behind.
set(regressor core/src/parse_regressor.cc)
set(place "#include \"vw/core/parse_regressor.h\"\n")
patch_vw(${regressor} "${place}" "${place}#include \"reduction/model_file.h\"\n#include \"reduction/model_in_memory.h\"\n")
patch_vw(${regressor} "  std::string start_name = reg_name + std::string(\".writing\");\n"
  "  vw_fastcb::model_file file(reg_name, all.options->was_supplied(\"fastcb\"));\n")
patch_vw(${regressor} "VW::io::open_file_writer(start_name)" "file.open()")
patch_vw(${regressor} "  remove(reg_name.c_str());\n\n  if (0 != rename(start_name.c_str(), reg_name.c_str()))
    THROW(\"WARN: dump_regressor(VW::workspace& all, std::string reg_name, bool as_text): cannot rename: \"
        << start_name.c_str() << \" to \" << reg_name.c_str());\n"
  "  file.replace();\n")
# What -i names may be a model in memory; so may it where --feature_mask makes VW read its header again.
patch_vw(${regressor} "VW::io::open_file_reader(all_intial[0])" "vw_fastcb::open_model(all_intial[0])")
patch_vw(${regressor} "VW::io::open_file_reader(initial_regressors[0])" "vw_fastcb::open_model(initial_regressors[0])")

# Models are merged into one that is made from the flags that models keep. The number of bits is none of them, so that stock VW
# merges models of any other size than 18 bits into one that has learned nothing.
patch_vw(core/src/merge.cc "  return serializer.str();\n"
  "  if (workspace.options->was_supplied(\"fastcb\"))
  {
    return serializer.str() + \" --bit_precision \" + std::to_string(workspace.initial_weights_config.num_bits);
  }
  return serializer.str();\n")

# Where weights are averaged, each model counts by the events that it has learned. VW's own count of them begins at 0 where a
# model is loaded, and an average over 0 events is NaN.
set(place "#include \"vw/core/merge.h\"\n")
patch_vw(core/src/merge.cc "${place}" "${place}${include_fastcb}")
patch_vw(core/src/merge.cc "example_counts.push_back(delta->sd->weighted_labeled_examples);"
  "example_counts.push_back(VW::reductions::fastcb_weight_learned(*delta));")
set(place "  std::vector<VW::model_delta> deltas;\n")
patch_vw(core/src/merge.cc "${place}"
  "  VW::reductions::fastcb_check_merging(base_workspace, workspaces_to_merge);\n${place}")
# The second-order oracle merges what it has in gd's table itself; and VW forgets the scales of features where it averages.
set(gd core/src/reductions/gd.cc)
set(place "#include \"vw/core/reductions/gd.h\"\n")
patch_vw(${gd} "${place}" "${place}${include_fastcb}")
set(place "  // Weight aggregation is based on same method as allreduce.\n")
patch_vw(${gd} "${place}" "  if (VW::reductions::fastcb_merges_weights(output_workspace)) { return; }\n${place}")
foreach(work IN ITEMS add subtract)
  set(place "  if (ws_out.weights.sparse)\n  {\n    ${work}_weights(")
  patch_vw(${gd} "${place}" "  if (VW::reductions::fastcb_merges_weights(ws_out)) { return; }\n${place}")
endforeach()
set(place "else { merge_weights_simple(length, source, per_model_weighting, output_workspace.weights.dense_weights); }")
patch_vw(${gd} "${place}"
  "else\n    {
      merge_weights_simple(length, source, per_model_weighting, output_workspace.weights.dense_weights);
      VW::reductions::fastcb_merge_largest_values(all_workspaces, output_workspace);
    }")

# The Python binding knows a label by its parser, and FastCB's parsers of these labels are its own.
foreach(label IN ITEMS multiclass_label_parser_global=MULTICLASS cs_label_parser_global=CS cb_label_parser_global=CB
    ccb_label_parser_global=CCB slates::slates_label_parser=SLATES)
  string(REPLACE "=" ";" label "${label}")
  list(GET label 0 parser)
  list(GET label 1 type)
  patch_vw(pylibvw.cc "lp->parse_label == VW::${parser}.parse_label" "lp->label_type == VW::label_type_t::${type}")
endforeach()
set(place "    case lCONTEXTUAL_BANDIT:\n")
patch_vw(pylibvw.cc "${place}      return &VW::cb_label_parser_global;"
  "${place}      if (all->parser_runtime.example_parser->lbl_parser.label_type == VW::label_type_t::CB)
      {
        return &all->parser_runtime.example_parser->lbl_parser;
      }
      return &VW::cb_label_parser_global;")
# Where an event read from a file is refused, the parser thread must be ended, not abandoned: that aborts the process.
patch_vw(pylibvw.cc "  VW::start_parser(*all);\n  VW::LEARNER::generic_driver(*all);\n  VW::end_parser(*all);\n"
  "  vw_fastcb::run_parser(*all);\n")
# An Example made from a line of text is read as strictly as others, and freed where it is refused.
patch_vw(pylibvw.cc "  VW::parsers::text::read_line(*all, ec, str);
  VW::setup_example(*all, ec);
  return std::shared_ptr<VW::example>(ec, my_delete_example);\n"
  "  std::shared_ptr<VW::example> owned(ec, my_delete_example);
  vw_fastcb::read_line(*all, *ec, str);
  VW::setup_example(*all, ec);
  return owned;\n")
set(place "#include \"vw/core/reductions/gd.h\"\n")
patch_vw(pylibvw.cc "${place}" "${place}#include \"cli/running_parser.h\"\n#include \"reading/event_reader.h\"\n")
list(REMOVE_ITEM VW_PATCHED_SOURCES "${VW_PYLIBVW_SOURCE}")

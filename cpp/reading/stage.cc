// The top of the stack with --fastcb: a learner that changes nothing. It refuses bad events as the user gave them,
// before any learner below can predict, learn or count. It also takes over reading and writing from VW: whole events
// come in, and probabilities go out with enough digits to be logged back.
#include "stage.h"

#include "event_reader.h"
#include "strict/event_rules.h"

#include "vw/config/options.h"
#include "vw/core/action_score.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parser.h"
#include "vw/core/setup_base.h"
#include "vw/core/shared_data.h"
#include "vw/core/vw.h"
#include "vw/io/io_adapter.h"

#include "fmt/format.h"

#include <string>
#include <utility>

namespace
{
using VW::LEARNER::learner;

struct stage
{
  VW::workspace* all;
  vw_fastcb::event_rules rules;
  bool skips_bad_events;
  learner* base;
  vw_fastcb::event_reader* reader = nullptr;  // set once VW is ready to read
};

void start_reading(stage& data)
{
  data.base->init_driver();
  data.reader = vw_fastcb::event_reader::install(*data.all, data.rules, data.skips_bad_events);
}

// VW does not start with --dry_run, but Python may go on to use the workspace.
vw_fastcb::event_reader& reader_of(stage& data)
{
  if (data.reader == nullptr) { start_reading(data); }
  return *data.reader;
}

// Remembers every line: a caller may finish only some of them, or in another order.
bool remember_refusal(stage& data, const VW::example& line) { return data.reader->remember_refusal(&line); }
bool remember_refusal(stage& data, const VW::multi_ex& lines)
{
  bool changed = false;
  for (const auto* line : lines) { changed = data.reader->remember_refusal(line) || changed; }
  return changed;
}

bool forget_refusal(stage& data, const VW::example& line) { return data.reader->forget_refusal(&line); }
bool forget_refusal(stage& data, const VW::multi_ex& lines)
{
  if (!data.reader->any_refused()) { return false; }
  bool changed = false;
  for (const auto* line : lines) { changed = data.reader->forget_refusal(line) || changed; }
  return changed;
}

// VW counts lines when it sets them up, and holds out every Nth. Refused lines must not shift the others. Where a
// thread of its own reads, the count is that thread's, and no others follow: a refusal ends the run.
void count_for_holdout(stage& data, int lines)
{
  auto& parsing = data.all->parser_runtime;
  if (parsing.parse_thread.joinable()) { return; }
  auto& parser = *parsing.example_parser;
  if (!parser.emptylines_separate_examples) { parser.in_pass_counter += static_cast<uint32_t>(lines); }
}

template <bool is_learn, typename Event>
void check_and_pass_on(stage& data, learner& base, Event& event)
{
  try
  {
    if (!reader_of(data).has_checked(*data.all)) { data.rules.check(event, is_learn); }
    if (is_learn) { base.learn(event); }
    else { base.predict(event); }
    if (forget_refusal(data, event)) { count_for_holdout(data, 1); }
  }
  catch (...)
  {
    if (remember_refusal(data, event)) { count_for_holdout(data, -1); }
    throw;
  }
}

// Like VW's output, but with enough digits to read back the same number.
void add_line(std::string& text, const VW::action_scores& probabilities, const VW::v_array<char>& tag)
{
  const char* delimiter = "";
  for (const auto& entry : probabilities)
  {
    fmt::format_to(std::back_inserter(text), "{}{}:{}", delimiter, entry.action, entry.score);
    delimiter = ",";
  }
  if (!tag.empty()) { text.append(" ").append(tag.begin(), tag.size()); }
  text += '\n';
}

std::string printed(const VW::example& ec, VW::prediction_type_t)
{
  std::string text;
  add_line(text, ec.pred.a_s, ec.tag);
  return text;
}

std::string printed(const VW::multi_ex& lines, VW::prediction_type_t type)
{
  if (lines.empty()) { return ""; }
  if (type == VW::prediction_type_t::ACTION_PROBS) { return printed(*lines[0], type) + '\n'; }
  std::string text;
  for (const auto& slot : lines[0]->pred.decision_scores) { add_line(text, slot, {}); }
  return text + '\n';
}

// VW counts and prints the event, except for the probabilities, which it would round.
template <typename Event>
void finish(VW::workspace& all, stage& data, Event& event)
{
  reader_of(data);
  if (forget_refusal(data, event))
  {
    VW::finish_example(all, event);
    return;
  }
  auto& sinks = all.output_runtime.final_prediction_sink;
  const auto type = data.base->get_output_prediction_type();
  const bool probabilities =
      type == VW::prediction_type_t::ACTION_PROBS || type == VW::prediction_type_t::DECISION_PROBS;
  if (sinks.empty() || !probabilities)
  {
    data.base->finish_example(all, event);
    return;
  }
  const auto text = printed(event, type);
  auto held_back = std::move(sinks);
  sinks.clear();
  data.base->finish_example(all, event);
  sinks = std::move(held_back);
  for (auto& sink : sinks) { sink->write(text.data(), text.size()); }
}

template <typename Event>
void update_stats(
    const VW::workspace& all, VW::shared_data& sd, const stage& data, const Event& event, VW::io::logger& log)
{
  auto* counting = data.base;
  while (!counting->has_update_stats()) { counting = counting->get_base_learner(); }
  counting->update_stats(all, sd, const_cast<Event&>(event), log);
}

template <typename Event>
std::shared_ptr<learner> make_stage(std::unique_ptr<stage> data, std::shared_ptr<learner> base, const std::string& name)
{
  const bool learn_returns_prediction = base->learn_returns_prediction;
  return VW::LEARNER::make_reduction_learner(
      std::move(data), base, check_and_pass_on<true, Event>, check_and_pass_on<false, Event>, name)
      .set_learn_returns_prediction(learn_returns_prediction)
      .set_init_driver(start_reading)
      .set_finish_example(finish<Event>)
      .set_update_stats(update_stats<Event>)
      .build();
}
}  // namespace

std::shared_ptr<learner> VW::reductions::fastcb_strict_setup(VW::setup_base_i& stack_builder)
{
  auto& options = *stack_builder.get_options();
  if (!options.was_supplied("fastcb")) { return nullptr; }
  auto base = stack_builder.setup_base_learner();
  if (base == nullptr) { return nullptr; }

  const auto bound = [&options](const char* name) { return options.get_typed_option<float>(name).value(); };
  const vw_fastcb::cost_range range(bound("cb_min_cost"), bound("cb_max_cost"));
  const auto labels = base->get_input_label_type();
  const bool fixed = labels == VW::label_type_t::CB && !base->is_multiline();
  const uint32_t actions = fixed ? options.get_typed_option<uint32_t>("cb_explore").value() : 0;
  vw_fastcb::class_rules classes;
  if (options.was_supplied("cbify")) { classes.count = options.get_typed_option<uint32_t>("cbify").value(); }
  if (options.was_supplied("cbify") || options.was_supplied("cbify_ldf"))
  {
    classes.lowest = bound("loss0");
    classes.highest = bound("loss1");
  }
  const bool skips = options.get_typed_option<std::string>("fastcb_bad_events").value() == "skip";
  auto& all = *stack_builder.get_all_pointer();
  const bool multiplies = options.get_typed_option<std::string>("fastcb_oracle").value() == "gd";
  const vw_fastcb::event_rules rules(labels, actions, range, classes, multiplies ? &all : nullptr);
  auto data = VW::make_unique<stage>(stage{&all, rules, skips, base.get(), nullptr});

  const auto name = stack_builder.get_setupfn_name(fastcb_strict_setup);
  return base->is_multiline() ? make_stage<VW::multi_ex>(std::move(data), std::move(base), name)
                              : make_stage<VW::example>(std::move(data), std::move(base), name);
}

// FastCB (Foster and Krishnamurthy 2021, https://arxiv.org/abs/2107.02237) for actions with their own features:
// --cb_explore_adf --fastcb.
#include "door.h"
#include "fastcb.h"
#include "fastcb_options.h"
#include "ranked_actions.h"
#include "strict/flags.h"
#include "text_event.h"

#include "vw/common/vw_throw.h"
#include "vw/config/options.h"
#include "vw/core/cb.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parser.h"
#include "vw/core/reductions/cb/cb_explore_adf_common.h"
#include "vw/core/setup_base.h"

#include <exception>
#include <utility>
#include <vector>

namespace
{
using VW::LEARNER::learner;

class cb_explore_adf_fastcb
{
public:
  cb_explore_adf_fastcb(std::unique_ptr<vw_fastcb::explorer> made, VW::workspace& all)
      : explorer(std::move(made))
      , _event(all)
  {
  }

  // Both are called by cb_explore_adf_base, which hides labels from predict and calls learn for labelled events only.
  void predict(learner& base, VW::multi_ex& actions);
  void learn(learner& base, VW::multi_ex& actions);
  void save_load(VW::io_buf& io, bool read, bool text) { explorer->save_load(io, read, text); }

  std::unique_ptr<vw_fastcb::explorer> explorer;

  // Of the current event, set when it is checked.
  size_t observed = vw_fastcb::NO_ACTION;
  VW::example* shared = nullptr;  // the line of shared features; null if VW merged them or there is none

  // What scoring threw. cb_explore_adf_base restores the label only if its explorer returns.
  std::exception_ptr problem;

private:
  void fill_prediction(VW::multi_ex& actions);

  vw_fastcb::text_event _event;
  vw_fastcb::scores _scores;
  vw_fastcb::ranked_actions _ranked;
};

void cb_explore_adf_fastcb::predict(learner&, VW::multi_ex& actions)
{
  try
  {
    fill_prediction(actions);
  }
  catch (...)
  {
    problem = std::current_exception();
  }
}

void cb_explore_adf_fastcb::fill_prediction(VW::multi_ex& actions)
{
  _event.start(shared, actions);
  explorer->score(_event, _scores);
  _ranked.rank(*explorer, _scores);

  // VW expects the prediction on the first line of the event.
  auto& prediction = (shared != nullptr ? shared : actions[0])->pred.a_s;
  prediction.clear();
  prediction.reserve(_ranked.size());
  for (size_t i = 0; i < _ranked.size(); ++i) { prediction.push_back({_ranked.action(i), _ranked.probability(i)}); }
}

void cb_explore_adf_fastcb::learn(learner&, VW::multi_ex& actions)
{
  const auto& chosen = *actions[observed];
  if (!explorer->can_learn_from(chosen)) { return; }
  const float cost = chosen.l.cb.costs[0].cost;
  _event.start(shared, actions);
  explorer->learn(_event, observed, cost);
}

using base_explorer = VW::cb_explore_adf::cb_explore_adf_base<cb_explore_adf_fastcb>;

// Takes the line of shared features out of the event, which leaves its actions, and puts it back at the end.
class actions_of
{
public:
  actions_of(cb_explore_adf_fastcb& explore, VW::multi_ex& lines) : _explore(explore), _lines(lines)
  {
    const bool has_header = !lines.empty() && VW::ec_is_example_header_cb(*lines[0]);
    _explore.shared = has_header ? lines[0] : nullptr;
    if (has_header) { lines.erase(lines.begin()); }
  }
  ~actions_of()
  {
    if (_explore.shared != nullptr) { _lines.insert(_lines.begin(), _explore.shared); }
    _explore.shared = nullptr;
  }
  actions_of(const actions_of&) = delete;
  actions_of& operator=(const actions_of&) = delete;

private:
  cb_explore_adf_fastcb& _explore;
  VW::multi_ex& _lines;
};

using method = void (*)(base_explorer&, learner&, VW::multi_ex&);

// A bad event must be refused before anything is predicted or learned from it.
template <method run>
void on_checked_actions(base_explorer& data, learner& base, VW::multi_ex& lines)
{
  auto& explore = data.explore;
  const actions_of taken(explore, lines);
  if (lines.empty()) { THROW("bad event: it has no action. Give it at least one action."); }
  explore.observed = explore.explorer->observed_action(lines);
  explore.problem = nullptr;
  run(data, base, lines);
  if (explore.problem) { std::rethrow_exception(std::exchange(explore.problem, nullptr)); }
}

vw_fastcb::explorer& explorer_of(base_explorer& data) { return *data.explore.explorer; }
using door = vw_fastcb::door<base_explorer, explorer_of>;
}  // namespace

std::shared_ptr<learner> VW::reductions::cb_explore_adf_fastcb_setup(VW::setup_base_i& stack_builder)
{
  auto& options = *stack_builder.get_options();
  vw_fastcb::fastcb_options own;
  const bool wanted = options.add_parse_and_check_necessary(own.adf_group());
  if (!wanted)
  {
    vw_fastcb::refuse_orphans(options);
    return nullptr;
  }
  own.check(options);
  own.choose_gamma(options);
  own.keep_meaning_of_weights(options);
  // Without it, VW restores the state of only one of a neural network's regressors.
  if (options.was_supplied("nn")) { options.insert("per_model_save_load", ""); }

  auto& all = *stack_builder.get_all_pointer();
  auto explorer = VW::make_unique<vw_fastcb::explorer>(own, all);
  auto base = explorer->set_up_base(stack_builder);
  // An event has several lines, which a holdout set must not split, unless cbify makes it from one.
  all.parser_runtime.example_parser->emptylines_separate_examples = !options.was_supplied("cbify");

  auto data =
      VW::make_unique<base_explorer>(all.output_runtime.global_metrics.are_metrics_enabled(), std::move(explorer), all);
  return VW::LEARNER::make_reduction_learner(std::move(data), base, on_checked_actions<base_explorer::learn>,
      on_checked_actions<base_explorer::predict>, stack_builder.get_setupfn_name(cb_explore_adf_fastcb_setup))
      .set_input_label_type(VW::label_type_t::CB)
      .set_output_label_type(VW::label_type_t::SIMPLE)
      .set_input_prediction_type(VW::prediction_type_t::SCALAR)
      .set_output_prediction_type(VW::prediction_type_t::ACTION_PROBS)
      .set_feature_width(1)
      .set_output_example_prediction(base_explorer::output_example_prediction)
      .set_update_stats(base_explorer::update_stats)
      .set_print_update(base_explorer::print_update)
      .set_persist_metrics(base_explorer::persist_metrics)
      .set_save_load(door::save_load)
      .set_merge(door::merge)
      .set_add(door::add)
      .set_subtract(door::subtract)
      .build();
}

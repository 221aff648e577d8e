// FastCB (Foster and Krishnamurthy 2021, https://arxiv.org/abs/2107.02237) for actions with their own features:
// --cb_explore_adf --fastcb.
#include "fastcb.h"
#include "fastcb_options.h"
#include "merging.h"
#include "oracle.h"
#include "ranked_actions.h"
#include "strict/flags.h"

#include "vw/common/vw_exception.h"
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
  explicit cb_explore_adf_fastcb(vw_fastcb::oracle oracle) : oracle(std::move(oracle)) {}

  // Both are called by cb_explore_adf_base, which hides labels from predict and calls learn for labelled events only.
  void predict(learner& base, VW::multi_ex& actions);
  void learn(learner& base, VW::multi_ex& actions);
  void save_load(VW::io_buf& io, bool read, bool text) { oracle.save_load(io, read, text); }

  vw_fastcb::oracle oracle;

  // Of the current event, set when it is checked.
  size_t observed = vw_fastcb::NO_ACTION;
  VW::example* shared = nullptr;  // the line of shared features; null if VW merged them or there is none

  // What scoring threw. cb_explore_adf_base restores the label only if its explorer returns.
  std::exception_ptr problem;

private:
  void fill_prediction(VW::multi_ex& actions);

  std::vector<float> _logits;
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
  oracle.score_actions(shared, actions, _logits);
  _ranked.rank(oracle, _logits);

  // VW expects the prediction on the first line of the event.
  auto& prediction = (shared != nullptr ? shared : actions[0])->pred.a_s;
  prediction.clear();
  prediction.reserve(_ranked.size());
  for (size_t i = 0; i < _ranked.size(); ++i) { prediction.push_back({_ranked.action(i), _ranked.probability(i)}); }
}

void cb_explore_adf_fastcb::learn(learner&, VW::multi_ex& actions)
{
  auto& chosen = *actions[observed];
  if (oracle.reads_all_actions() && oracle.can_learn_from(chosen))
  {
    oracle.start_actions();
    for (auto* action : actions) { oracle.see_action(shared, *action); }
  }
  oracle.learn_action(shared, chosen, chosen.l.cb.costs[0].cost);
}

using explorer = VW::cb_explore_adf::cb_explore_adf_base<cb_explore_adf_fastcb>;

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

using method = void (*)(explorer&, learner&, VW::multi_ex&);

// A bad event must be refused before anything is predicted or learned from it.
template <method run>
void on_checked_actions(explorer& data, learner& base, VW::multi_ex& lines)
{
  auto& explore = data.explore;
  const actions_of taken(explore, lines);
  if (lines.empty()) { THROW("bad event: it has no action. Give it at least one action."); }
  explore.observed = explore.oracle.observed_action(lines);
  explore.problem = nullptr;
  run(data, base, lines);
  if (explore.problem) { std::rethrow_exception(std::exchange(explore.problem, nullptr)); }
}

vw_fastcb::oracle& oracle_of(explorer& data) { return data.explore.oracle; }
using merging = vw_fastcb::merging<explorer, oracle_of>;
}  // namespace

std::shared_ptr<learner> VW::reductions::cb_explore_adf_fastcb_setup(VW::setup_base_i& stack_builder)
{
  auto& options = *stack_builder.get_options();
  vw_fastcb::fastcb_options said;
  const bool wanted = options.add_parse_and_check_necessary(said.adf_group());
  if (!wanted)
  {
    vw_fastcb::refuse_orphans(options);
    return nullptr;
  }
  said.check(options);
  said.choose_gamma(options);
  said.keep_meaning_of_weights(options);
  // Without it, VW restores the state of only one of a neural network's regressors.
  if (options.was_supplied("nn")) { options.insert("per_model_save_load", ""); }

  auto& all = *stack_builder.get_all_pointer();
  vw_fastcb::oracle oracle(said, all);
  auto base = oracle.set_up_base(stack_builder);
  // An event has several lines, which a holdout set must not split, unless cbify makes it from one.
  all.parser_runtime.example_parser->emptylines_separate_examples = !options.was_supplied("cbify");

  auto data = VW::make_unique<explorer>(all.output_runtime.global_metrics.are_metrics_enabled(), std::move(oracle));
  return VW::LEARNER::make_reduction_learner(std::move(data), base, on_checked_actions<explorer::learn>,
      on_checked_actions<explorer::predict>, stack_builder.get_setupfn_name(cb_explore_adf_fastcb_setup))
      .set_input_label_type(VW::label_type_t::CB)
      .set_output_label_type(VW::label_type_t::SIMPLE)
      .set_input_prediction_type(VW::prediction_type_t::SCALAR)
      .set_output_prediction_type(VW::prediction_type_t::ACTION_PROBS)
      .set_feature_width(1)
      .set_output_example_prediction(explorer::output_example_prediction)
      .set_update_stats(explorer::update_stats)
      .set_print_update(explorer::print_update)
      .set_persist_metrics(explorer::persist_metrics)
      .set_save_load(explorer::save_load)
      .set_merge(merging::merge)
      .set_add(merging::add)
      .set_subtract(merging::subtract)
      .build();
}

vw_fastcb::oracle& VW::reductions::cb_explore_adf_fastcb_oracle(VW::LEARNER::learner& learner)
{
  return oracle_of(*static_cast<explorer*>(learner.get_internal_type_erased_data_pointer_test_use_only()));
}

// FastCB (Foster and Krishnamurthy 2021, https://arxiv.org/abs/2107.02237) for actions with features of their own:
// --cb_explore_adf --fastcb.
#include "fastcb.h"
#include "fastcb_options.h"
#include "merging.h"
#include "oracle.h"
#include "refusals.h"

#include "vw/config/options.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parser.h"
#include "vw/core/reductions/cb/cb_explore_adf_common.h"
#include "vw/core/scope_exit.h"
#include "vw/core/setup_base.h"

#include <algorithm>
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
  size_t observed = vw_fastcb::NO_ACTION;  // of the event at hand, set when it was checked

private:
  struct scored_action
  {
    float logit;
    uint32_t action;
  };
  // Kept from event to event: nothing is allocated per action.
  std::vector<scored_action> _ranked;
  std::vector<float> _logits;
  std::vector<double> _pmf;
};

void cb_explore_adf_fastcb::predict(learner&, VW::multi_ex& actions)
{
  const auto count = actions.size();
  _ranked.resize(count);
  for (uint32_t a = 0; a < count; ++a) { _ranked[a] = {oracle.score(*actions[a]), a}; }
  // Users of VW's explorers expect actions in order of preference.
  std::sort(_ranked.begin(), _ranked.end(), [this](const scored_action& x, const scored_action& y)
      { return oracle.better(x.logit, y.logit) || (x.logit == y.logit && x.action < y.action); });

  _logits.resize(count);
  _pmf.resize(count);
  std::transform(_ranked.begin(), _ranked.end(), _logits.begin(), [](const scored_action& s) { return s.logit; });
  oracle.to_pmf(_logits, _pmf);

  auto& prediction = actions[0]->pred.a_s;
  prediction.clear();
  prediction.reserve(count);
  for (size_t i = 0; i < count; ++i) { prediction.push_back({_ranked[i].action, static_cast<float>(_pmf[i])}); }
}

void cb_explore_adf_fastcb::learn(learner&, VW::multi_ex& actions)
{
  auto prediction = std::move(actions[0]->pred.a_s);
  const auto put_back = VW::scope_exit([&] { actions[0]->pred.a_s = std::move(prediction); });
  auto& chosen = *actions[observed];
  oracle.learn(chosen, chosen.l.cb.costs[0].cost);
}

using explorer = VW::cb_explore_adf::cb_explore_adf_base<cb_explore_adf_fastcb>;

// A bad event must be refused before anything is predicted or learned from it.
void checked_predict(explorer& data, learner& base, VW::multi_ex& actions)
{
  data.explore.observed = data.explore.oracle.observed_action(actions);
  explorer::predict(data, base, actions);
}

void checked_learn(explorer& data, learner& base, VW::multi_ex& actions)
{
  data.explore.observed = data.explore.oracle.observed_action(actions);
  explorer::learn(data, base, actions);
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
  said.keep_meaning_of_weights(options);
  // Without it VW restores the state of one of a neural network's regressors only.
  if (options.was_supplied("nn")) { options.insert("per_model_save_load", ""); }

  auto& all = *stack_builder.get_all_pointer();
  vw_fastcb::oracle oracle(said, all);
  auto base = oracle.set_up_base(stack_builder);
  // An event is several lines, which a holdout set must not split; unless cbify makes it of one.
  all.parser_runtime.example_parser->emptylines_separate_examples = !options.was_supplied("cbify");

  auto data = VW::make_unique<explorer>(all.output_runtime.global_metrics.are_metrics_enabled(), std::move(oracle));
  return VW::LEARNER::make_reduction_learner(std::move(data), base, checked_learn, checked_predict,
      stack_builder.get_setupfn_name(cb_explore_adf_fastcb_setup))
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

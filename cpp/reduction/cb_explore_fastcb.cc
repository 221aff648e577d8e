// FastCB (Foster and Krishnamurthy 2021, https://arxiv.org/abs/2107.02237) for fixed actions: --cb_explore K --fastcb.
// One context line per event and one weight slot per action, all scored in one pass over the features.
#include "door.h"
#include "fastcb.h"
#include "fastcb_options.h"
#include "text_event.h"

#include "vw/config/options.h"
#include "vw/core/action_score.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/print_utils.h"
#include "vw/core/setup_base.h"
#include "vw/core/shared_data.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace
{
using VW::LEARNER::learner;

class cb_explore_fastcb
{
public:
  cb_explore_fastcb(std::unique_ptr<vw_fastcb::explorer> made, VW::workspace& all, uint32_t actions)
      : explorer(std::move(made))
      , count(actions)
      , _event(all)
  {
  }

  void predict(VW::example& ec);
  void learn(VW::example& ec);

  std::unique_ptr<vw_fastcb::explorer> explorer;
  uint32_t count;

private:
  vw_fastcb::text_event _event;
  vw_fastcb::scores _scores;  // kept between events, like _pmf: nothing is allocated per action
  std::vector<double> _pmf;
};

void cb_explore_fastcb::predict(VW::example& ec)
{
  explorer->observed_action(ec, count);  // refuse bad events here too: with -t nothing is learned
  _event.start(ec, count);
  explorer->score(_event, _scores);
  explorer->allocate(_scores, _pmf);

  auto& prediction = ec.pred.a_s;
  prediction.clear();
  prediction.reserve(count);
  for (uint32_t a = 0; a < count; ++a) { prediction.push_back({a, static_cast<float>(_pmf[a])}); }
}

void cb_explore_fastcb::learn(VW::example& ec)
{
  const auto observed = explorer->observed_action(ec, count);
  if (observed == vw_fastcb::NO_ACTION || !explorer->can_learn_from(ec)) { return; }
  _event.start(ec, count);
  explorer->learn(_event, observed, ec.l.cb.costs[0].cost);
}

void predict(cb_explore_fastcb& data, learner&, VW::example& ec) { data.predict(ec); }
void learn(cb_explore_fastcb& data, learner&, VW::example& ec) { data.learn(ec); }

// The loss that VW reports for an explorer: the logged cost, weighted by the policy's probability over the logged one.
void update_stats(
    const VW::workspace&, VW::shared_data& sd, const cb_explore_fastcb&, const VW::example& ec, VW::io::logger&)
{
  const auto& costs = ec.l.cb.costs;
  const auto& pmf = ec.pred.a_s;
  // Python may pass a refused event, with an empty label or no prediction.
  const bool labelled = costs.size() == 1 && costs[0].action - 1 < pmf.size() && costs[0].probability > 0.f;
  const float loss = labelled ? costs[0].cost / costs[0].probability * pmf[costs[0].action - 1].score * ec.weight : 0.f;
  sd.update(ec.test_only, labelled, loss, ec.weight, ec.get_num_features());
}

void output_prediction(VW::workspace& all, const cb_explore_fastcb&, const VW::example& ec, VW::io::logger& logger)
{
  for (auto& sink : all.output_runtime.final_prediction_sink)
  {
    VW::details::print_action_score(sink.get(), ec.pred.a_s, ec.tag, logger);
  }
}

// VW's progress table shows the preferred action.
void print_update(
    VW::workspace& all, VW::shared_data& sd, const cb_explore_fastcb&, const VW::example& ec, VW::io::logger&)
{
  if (sd.weighted_examples() < sd.dump_interval || all.output_config.quiet || ec.pred.a_s.empty()) { return; }
  std::ostringstream label;
  label.precision(2);
  if (ec.l.cb.costs.empty()) { label << "unknown"; }
  else
  {
    const auto& observed = ec.l.cb.costs[0];
    label << observed.action << ':' << observed.cost << ':' << observed.probability;
  }
  const auto best = std::max_element(ec.pred.a_s.begin(), ec.pred.a_s.end(),
      [](const VW::action_score& x, const VW::action_score& y) { return x.score < y.score; });
  std::ostringstream prediction;
  prediction.precision(2);
  prediction << best->action + 1 << ':' << best->score;
  sd.print_update(*all.output_runtime.trace_message, all.passes_config.holdout_set_off, all.passes_config.current_pass,
      label.str(), prediction.str(), ec.get_num_features());
}

vw_fastcb::explorer& explorer_of(cb_explore_fastcb& data) { return *data.explorer; }
using door = vw_fastcb::door<cb_explore_fastcb, explorer_of>;
}  // namespace

std::shared_ptr<learner> VW::reductions::cb_explore_fastcb_setup(VW::setup_base_i& stack_builder)
{
  auto& options = *stack_builder.get_options();
  vw_fastcb::fastcb_options own;
  if (!options.add_parse_and_check_necessary(own.fixed_group())) { return nullptr; }
  own.check(options);
  own.choose_gamma(options);
  own.keep_meaning_of_weights(options);
  // Without it, VW restores the state of only the first action's regressor.
  options.insert("per_model_save_load", "");

  auto& all = *stack_builder.get_all_pointer();
  auto explorer = VW::make_unique<vw_fastcb::explorer>(own, all);
  auto base = explorer->set_up_base(stack_builder, own.num_actions);

  auto data = VW::make_unique<cb_explore_fastcb>(std::move(explorer), all, own.num_actions);
  return VW::LEARNER::make_reduction_learner(
      std::move(data), base, learn, predict, stack_builder.get_setupfn_name(cb_explore_fastcb_setup))
      .set_input_label_type(VW::label_type_t::CB)
      .set_output_label_type(VW::label_type_t::SIMPLE)
      .set_input_prediction_type(VW::prediction_type_t::SCALAR)
      .set_output_prediction_type(VW::prediction_type_t::ACTION_PROBS)
      .set_feature_width(own.num_actions)
      .set_output_example_prediction(output_prediction)
      .set_update_stats(update_stats)
      .set_print_update(print_update)
      .set_save_load(door::save_load)
      .set_merge(door::merge)
      .set_add(door::add)
      .set_subtract(door::subtract)
      .build();
}

#include "oracle.h"

#include "allocation/allocation.h"
#include "model_state.h"
#include "refusals.h"

#include "vw/common/vw_exception.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/loss_functions.h"
#include "vw/core/parser.h"
#include "vw/core/setup_base.h"
#include "vw/core/shared_data.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace vw_fastcb
{
namespace
{
constexpr float LOGIT_BOUND = 50.f;  // VW's own bound for logistic loss
}

oracle::oracle(const fastcb_options& options, VW::workspace& all)
    : _all(&all)
    , _linear(all)
    , _range(options.min_cost(), options.max_cost())
    , _gamma_scale(options.gamma_scale())
    , _gamma_exponent(options.gamma_exponent())
    , _epsilon(options.epsilon())
    , _for_rewards(options.for_rewards())
    , _plain_igw(options.plain_igw())
    , _fixed_actions(options.num_actions > 0)
{
}

void oracle::use_log_loss()
{
  _all->loss_config.loss = VW::get_loss_function(*_all, "logistic", 0.f, 1.f);
  // VW sets the bounds with the loss only while it trains; under -t they would stay at those of squared loss.
  _all->sd->min_label = -LOGIT_BOUND;
  _all->sd->max_label = LOGIT_BOUND;
}

std::shared_ptr<VW::LEARNER::learner> oracle::set_up_base(VW::setup_base_i& stack_builder, size_t feature_width)
{
  use_log_loss();
  auto base = VW::LEARNER::require_singleline(stack_builder.setup_base_learner(feature_width));
  use_log_loss();  // setting up a base learner may change it
  if (base->get_name().rfind("scorer", 0) != 0)
  {
    THROW("--fastcb stands on VW's regressor, but another flag put '" << base->get_name()
                                                                      << "' between them. Leave that flag out.");
  }
  refuse_ignored_flags(*stack_builder.get_options());
  _scorer = base.get();
  _regressor = base->get_base_learner();
  _is_linear = _regressor->get_name() == "gd";
  return base;
}

float oracle::score(VW::example& ec) const
{
  if (_is_linear && _linear.applies(ec)) { return _linear.score(ec); }
  ec.l.simple.label = FLT_MAX;
  _regressor->predict(ec);
  if (!std::isfinite(ec.partial_prediction)) { check_features(ec); }
  return ec.pred.scalar;
}

void oracle::score_slots(VW::example& ec, std::vector<float>& logits)
{
  if (_is_linear && _linear.applies(ec))
  {
    _linear.score_slots(ec, _regressor->feature_width_below, logits.data(), logits.size());
    return;
  }
  check_features(ec);
  _slots.resize(logits.size());
  ec.l.simple.label = FLT_MAX;
  _regressor->multipredict(ec, 0, logits.size(), _slots.data(), /*finalize_predictions=*/true);
  std::transform(_slots.begin(), _slots.end(), logits.begin(), [](const VW::polyprediction& p) { return p.scalar; });
}

void oracle::learn(VW::example& ec, float cost, size_t slot)
{
  if (!prepare_to_learn(ec, cost)) { return; }
  _regressor->learn(ec, slot);  // the scorer would compute a loss and a link that nobody asks for
  ++_events;
}

void oracle::learn_scored(VW::example& ec, float cost, size_t slot, float logit)
{
  if (!prepare_to_learn(ec, cost)) { return; }
  if (_is_linear && _linear.applies(ec))
  {
    ec.pred.scalar = logit;
    _regressor->update(ec, slot);
  }
  else { _regressor->learn(ec, slot); }
  ++_events;
}

bool oracle::prepare_to_learn(VW::example& ec, float cost)
{
  // Without a holdout set, VW's mark means only that the line had no label when it was parsed.
  const bool held_out = ec.test_only && !_all->passes_config.holdout_set_off;
  if (held_out || !(ec.weight > 0.f)) { return false; }
  // VW takes events without a label off its clock, but forgets how many they were when it loads a model.
  _all->sd->t -= _unlabelled_before;
  _unlabelled_before = 0.;
  const float unit_cost = std::min(1.f, std::max(0.f, _range.to_unit(cost)));
  ec.l.simple.label = _for_rewards ? 1.f - unit_cost : unit_cost;
  return true;
}

double oracle::gamma() const { return power_gamma(_gamma_scale, _gamma_exponent, _events); }

void oracle::to_pmf(const std::vector<float>& logits, std::vector<double>& pmf)
{
  const size_t count = logits.size();
  _predictions.resize(count);
  sigmoids(logits.data(), count, _predictions.data());
  if (_plain_igw && _for_rewards)
  {
    // The rule speaks of losses.
    std::transform(_predictions.begin(), _predictions.end(), pmf.begin(), [](double y) { return 1. - y; });
    igw(pmf.data(), count, gamma(), pmf.data());
  }
  else if (_plain_igw) { igw(_predictions.data(), count, gamma(), pmf.data()); }
  else if (_for_rewards) { reweighted_igw_rewards(_predictions.data(), count, gamma(), pmf.data()); }
  else { reweighted_igw(_predictions.data(), count, gamma(), pmf.data()); }
  enforce_floor(pmf.data(), count, _epsilon);
}

void oracle::save_load(VW::io_buf& io, bool read, bool text)
{
  if (read)
  {
    // VW chooses the label parser after the stack is built and before it asks the stack to load, with or without a
    // file.
    auto& parser = *_all->parser_runtime.example_parser;
    parser.lbl_parser = strict_label_parser(parser.lbl_parser, _fixed_actions);
    parser.strict_parse = true;  // a malformed JSON event is an error, not skipped
    use_log_loss();
  }
  model_state state{_events, _unlabelled_before + _all->sd->weighted_unlabeled_examples};
  save_load_state(state, *_scorer, io, read, text);
  if (!read) { return; }
  _events = state.events;
  const bool vw_restores = _all->runtime_config.training && _all->output_model_config.preserve_performance_counters;
  _unlabelled_before = vw_restores ? 0. : state.unlabelled;
}
}  // namespace vw_fastcb

#include "oracle.h"

#include "allocation/allocation.h"
#include "model_state.h"

#include "vw/common/vw_exception.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/loss_functions.h"
#include "vw/core/parser.h"
#include "vw/core/shared_data.h"

#include <algorithm>
#include <cfloat>

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

void oracle::attach(VW::LEARNER::learner& base)
{
  if (base.get_name().rfind("scorer", 0) != 0)
  {
    THROW("--fastcb stands on VW's regressor, but another flag put '" << base.get_name()
                                                                      << "' between them. Leave that flag out.");
  }
  _scorer = &base;
  _regressor = base.get_base_learner();
  _is_linear = _regressor->get_name() == "gd";
}

float oracle::score(VW::example& ec) const
{
  if (_is_linear && _linear.applies(ec)) { return _linear.score(ec); }
  ec.l.simple.label = FLT_MAX;
  _regressor->predict(ec);
  return ec.pred.scalar;
}

void oracle::score_slots(VW::example& ec, std::vector<float>& logits)
{
  if (_is_linear && _linear.applies(ec))
  {
    _linear.score_slots(ec, _regressor->feature_width_below, logits.data(), logits.size());
    return;
  }
  _slots.resize(logits.size());
  ec.l.simple.label = FLT_MAX;
  _regressor->multipredict(ec, 0, logits.size(), _slots.data(), /*finalize_predictions=*/true);
  std::transform(_slots.begin(), _slots.end(), logits.begin(), [](const VW::polyprediction& p) { return p.scalar; });
}

void oracle::learn(VW::example& ec, float cost, size_t slot)
{
  // Without a holdout set, VW's mark means only that the line had no label when it was parsed.
  const bool held_out = ec.test_only && !_all->passes_config.holdout_set_off;
  if (held_out || ec.weight == 0.f) { return; }
  const float unit_cost = std::min(1.f, std::max(0.f, _range.to_unit(cost)));
  ec.l.simple.label = _for_rewards ? 1.f - unit_cost : unit_cost;
  _scorer->learn(ec, slot);
  ++_events;
}

void oracle::to_pmf(const std::vector<float>& logits, std::vector<double>& pmf) const
{
  const double gamma = power_gamma(_gamma_scale, _gamma_exponent, _events);
  const size_t count = logits.size();
  std::transform(logits.begin(), logits.end(), pmf.begin(), sigmoid);
  double* const values = pmf.data();
  if (_plain_igw)
  {
    // The rule speaks of losses.
    if (_for_rewards)
    {
      std::transform(pmf.begin(), pmf.end(), pmf.begin(), [](double reward) { return 1. - reward; });
    }
    igw(values, count, gamma, values);
  }
  else if (_for_rewards) { reweighted_igw_rewards(values, count, gamma, values); }
  else { reweighted_igw(values, count, gamma, values); }
  enforce_floor(values, count, _epsilon);
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
  save_load_state(_events, *_scorer, io, read, text);
}
}  // namespace vw_fastcb

#include "gd.h"

#include "explanation.h"

#include "vw/common/vw_throw.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/shared_data.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace vw_fastcb
{
namespace
{
// Whether a feature, or a product in an interaction, may be so small that VW's multipredict ignores it.
bool may_be_tiny(const VW::workspace& all, const VW::example& ec)
{
  size_t longest = 1;
  const auto& tweaks = all.feature_tweaks_config;
  for (const auto& terms : tweaks.interactions) { longest = std::max(longest, terms.size()); }
  for (const auto& terms : tweaks.extent_interactions) { longest = std::max(longest, terms.size()); }
  float smallest = 1.f;
  for (const auto ns : ec.indices)
  {
    for (const auto value : ec.feature_space[ns].values)
    {
      if (value != 0.f) { smallest = std::min(smallest, std::fabs(value)); }
    }
  }
  return std::pow(static_cast<double>(smallest), static_cast<double>(longest)) < 1.001e-10;
}

bool is_linear(const VW::workspace& all, const VW::LEARNER::learner& below)
{
  const bool has_l1 = (all.loss_config.reg_mode & 1) != 0;  // gd then truncates weights before it adds them
  return below.get_name() == "gd" && !has_l1 && !all.weights.sparse;
}
}  // namespace

gd::gd(VW::workspace& all, VW::LEARNER::learner& below)
    : _all(&all)
    , _below(&below)
    , _is_linear(is_linear(all, below))
    , _prints(all.output_config.audit || all.output_config.hash_inv)
{
}

void gd::score(event& of, std::vector<float>& logits)
{
  if (of.has_slots())
  {
    score_slots(of, logits);
    return;
  }
  const bool splits = can_split(of);
  if (!splits || _prints)
  {
    for (size_t a = 0; a < logits.size(); ++a) { logits[a] = predict(whole_line(of, a).example); }
  }
  // Even if VW has just predicted for its printout: printing must not change a probability, not even by rounding.
  if (splits) { split_scores(of, logits); }
}

void gd::score_slots(event& of, std::vector<float>& logits)
{
  if (!_is_linear || _prints)
  {
    predict_slots(whole_line(of, 0).example, logits);
    return;
  }
  const auto& weights = _all->weights.dense_weights;
  const weight_rows table{weights.data(), weights.mask(), weights.stride_shift(), _below->feature_width_below};
  _slot_scorer.score(of.features(0), table, of.initial(0), logits);
  to_predictions(logits);
}

bool gd::can_split(const event& of) const
{
  return _is_linear && of.is_plain() && split_scorer::covers_mask(_all->weights.dense_weights.mask());
}

void gd::split_scores(event& of, std::vector<float>& logits)
{
  const auto& weights = _all->weights.dense_weights;
  _split_scorer.start_event(weights.data(), weights.mask(), of.layout().offset, of.interactions(), of.shared());
  for (size_t a = 0; a < logits.size(); ++a)
  {
    size_t products = 0;
    logits[a] = _split_scorer.score(of.own(a), of.initial(a), products);
    of.note_products(a, products);
  }
  to_predictions(logits);
}

float gd::predict(VW::example& ec)
{
  ec.l.simple.label = FLT_MAX;
  _below->predict(ec);
  return ec.pred.scalar;
}

void gd::predict_slots(VW::example& ec, std::vector<float>& logits)
{
  ec.l.simple.label = FLT_MAX;
  if (_prints || may_be_tiny(*_all, ec))
  {
    for (size_t slot = 0; slot < logits.size(); ++slot)
    {
      _below->predict(ec, slot);
      logits[slot] = ec.pred.scalar;
    }
    return;
  }
  _predictions.resize(logits.size());
  _below->multipredict(ec, 0, logits.size(), _predictions.data(), /*finalize_predictions=*/true);
  for (size_t slot = 0; slot < logits.size(); ++slot) { logits[slot] = _predictions[slot].scalar; }
}

void gd::to_predictions(std::vector<float>& sums) const
{
  const float least = _all->sd->min_label;
  const float most = _all->sd->max_label;
  const auto within = std::count_if(sums.begin(), sums.end(), [=](float x) { return x >= least && x <= most; });
  // They are predictions already, which is nearly always so.
  if (static_cast<size_t>(within) == sums.size() && _all->sd->contraction == 1.) { return; }
  // Features are finite, so a sum that is not comes from weights that overflowed; VW turns it into 0.
  for (auto& sum : sums)
  {
    sum = VW::details::finalize_prediction(*_all->sd, _all->logger, sum * static_cast<float>(_all->sd->contraction));
  }
}

double gd::learn(event& of, size_t action, float outcome)
{
  const size_t line = of.has_slots() ? 0 : action;
  const size_t slot = of.has_slots() ? action : 0;
  const whole_line whole(of, line);
  auto& ec = whole.example;
  ec.l.simple.label = outcome;
  const auto* const logit = of.logit(action);
  // What score_slots computes is gd's prediction, bit for bit, so gd need not compute it again.
  if (logit != nullptr && of.has_slots() && _is_linear && !_prints)
  {
    ec.pred.scalar = *logit;
    _below->update(ec, slot);
  }
  else { _below->learn(ec, slot); }
  return double{ec.pred.scalar};
}

void gd::explain(std::vector<explained_term>& terms, size_t slots)
{
  if (!_is_linear)
  {
    THROW("only a regressor that adds up weights can be explained, and this one is '"
          << _below->get_name() << "', or has --l1. Use oracle newton, or gd without flags that change it.");
  }
  const auto& weights = _all->weights.dense_weights;
  for (auto& term : terms)
  {
    for (size_t slot = 0; slot < slots; ++slot)
    {
      const auto place = (term.index + slot * _below->feature_width_below) & weights.mask();
      const double weight = double{weights.data()[place]} * _all->sd->contraction;
      term.weights.push_back(weight);
      term.contributions.push_back(weight * term.value);
    }
  }
}
}  // namespace vw_fastcb

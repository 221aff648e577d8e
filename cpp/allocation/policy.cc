#include "policy.h"

#include "allocation.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
double policy::gamma(const experience& learned, size_t actions) const
{
  if (!has_epochs) { return power_gamma(gamma_scale, gamma_exponent, learned.events); }
  const double horizon = power_of_two_above(static_cast<double>(learned.events));
  const double bound = regret > 0. ? regret : learned.weights * std::log(1. + horizon);
  return epochs_gamma(learned.loss, bound, actions);
}

void policy::allocate(const std::vector<float>& logits, const experience& learned, std::vector<double>& predictions,
    std::vector<double>& pmf) const
{
  const size_t count = logits.size();
  const double greediness = gamma(learned, count);
  predictions.resize(count);
  sigmoids(logits.data(), count, predictions.data());
  pmf.assign(predictions.begin(), predictions.end());
  if (has_epochs && limits_certainty)
  {
    // Laplace's rule of succession: after t events without a loss, the next one has one with a probability of
    // 1 / (t + 2). To keep predictions that far from 0 and 1 adds at most about 2 log t to the regret under log loss.
    const double least = 1. / (static_cast<double>(learned.events) + 2.);
    for (auto& prediction : pmf) { prediction = std::clamp(prediction, least, 1. - least); }
  }
  double* const p = pmf.data();
  if (rule == allocation_rule::igw)
  {
    if (adapts_to == objective::reward)
    {
      for (auto& prediction : pmf) { prediction = 1. - prediction; }  // the rule expects losses
    }
    igw(p, count, greediness, p);
  }
  else if (adapts_to == objective::reward) { reweighted_igw_rewards(p, count, greediness, p); }
  else if (adapts_to == objective::both) { reweighted_igw_both(p, count, greediness, p); }
  else { reweighted_igw(p, count, greediness, p); }
  enforce_floor(p, count, epsilon);
}
}  // namespace vw_fastcb

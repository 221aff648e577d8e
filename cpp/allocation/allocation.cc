#include "allocation.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
namespace
{
// The shape the three rules share: action a gets weight / (count * weight + gamma * gap_a), the best one the rest.
// An action tied with the best has gap 0 and gets 1/count, also where the formula would read 0/0 (weight 0) or
// infinity * 0 (unbounded gamma).
template <typename Gap>
void inverse_gap_weighting(size_t count, size_t best, double weight, double gamma, Gap gap, double* pmf)
{
  const double share = 1. / static_cast<double>(count);
  double others = 0.;
  for (size_t a = 0; a < count; ++a)
  {
    if (a == best) { continue; }
    const double weighted_gap = gap(a) > 0. ? gamma * gap(a) : 0.;
    const double p = weighted_gap > 0. ? weight / (static_cast<double>(count) * weight + weighted_gap) : share;
    pmf[a] = p;
    others += p;
  }
  pmf[best] = std::max(0., 1. - others);
}
}  // namespace

double sigmoid(double logit)
{
  if (logit >= 0.) { return 1. / (1. + std::exp(-logit)); }
  const double e = std::exp(logit);
  return e / (1. + e);
}

double power_gamma(double scale, double exponent, uint64_t rounds)
{
  return scale * std::pow(static_cast<double>(rounds), exponent);
}

void reweighted_igw(const double* losses, size_t count, double gamma, double* pmf)
{
  if (count == 0) { return; }
  const size_t best = static_cast<size_t>(std::min_element(losses, losses + count) - losses);
  const double lowest = losses[best];
  inverse_gap_weighting(count, best, lowest, gamma, [=](size_t a) { return losses[a] - lowest; }, pmf);
}

void igw(const double* losses, size_t count, double gamma, double* pmf)
{
  if (count == 0) { return; }
  const size_t best = static_cast<size_t>(std::min_element(losses, losses + count) - losses);
  const double lowest = losses[best];
  inverse_gap_weighting(count, best, 1., gamma, [=](size_t a) { return losses[a] - lowest; }, pmf);
}

void reweighted_igw_rewards(const double* rewards, size_t count, double gamma, double* pmf)
{
  if (count == 0) { return; }
  const size_t best = static_cast<size_t>(std::max_element(rewards, rewards + count) - rewards);
  const double highest = rewards[best];
  inverse_gap_weighting(count, best, highest, gamma, [=](size_t a) { return highest - rewards[a]; }, pmf);
}

void enforce_floor(double* pmf, size_t count, double epsilon)
{
  if (epsilon <= 0. || count == 0) { return; }
  const double floor = epsilon / static_cast<double>(count);
  double excess = 0.;
  for (size_t a = 0; a < count; ++a) { excess += std::max(0., pmf[a] - floor); }
  const double scale = excess > 0. ? (1. - epsilon) / excess : 0.;
  for (size_t a = 0; a < count; ++a) { pmf[a] = floor + scale * std::max(0., pmf[a] - floor); }
}
}  // namespace vw_fastcb

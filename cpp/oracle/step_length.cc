#include "step_length.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
namespace
{
// By evidence; see benchmarks/science/README.md.
constexpr double LEAST_CURVATURE = 1e-3;

double sigmoid(double logit) { return 1. / (1. + std::exp(-logit)); }

// Where a heavy event moves a prediction: logit' = logit - weight * variance * (sigmoid(logit') - outcome), solved by
// bisection. A single Newton step goes by the curvature at the old prediction, and with such a weight far too far.
double prediction_after(double logit, double variance, double weight, double outcome)
{
  const double farthest = logit - weight * variance * (sigmoid(logit) - outcome);
  double low = std::min(logit, farthest);
  double high = std::max(logit, farthest);
  constexpr int HALVINGS = 100;
  for (int i = 0; i < HALVINGS; ++i)
  {
    const double middle = .5 * (low + high);
    const bool too_high = middle - logit + weight * variance * (sigmoid(middle) - outcome) > 0.;
    (too_high ? high : low) = middle;
  }
  return sigmoid(.5 * (low + high));
}
}  // namespace

step_length step_towards(double outcome, double logit, double variance, double weight)
{
  const bool heavy = weight > 1.;
  const double predicted = heavy ? prediction_after(logit, variance, weight, outcome) : sigmoid(logit);
  const double curvature = std::max(LEAST_CURVATURE, predicted * (1. - predicted));
  const double gain = 1. / (1. / weight + curvature * variance);
  return {(heavy ? weight : gain) * (predicted - outcome), gain * curvature, curvature};
}
}  // namespace vw_fastcb

#include "mixture.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
namespace
{
constexpr double SHARE = .001;  // by evidence; see benchmarks/science/README.md
constexpr double MOST_LOGIT = 50.;

double bounded(double logit) { return std::min(MOST_LOGIT, std::max(-MOST_LOGIT, logit)); }

// log(1 + exp(x)), without overflow.
double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::fabs(x))); }
}  // namespace

mixture::mixture(size_t members) : _weights(members, 1. / static_cast<double>(members)) {}

double mixture::logit_of(const std::vector<double>& logits) const
{
  // The odds, each as a share of its own: no difference of numbers close to 1.
  double yes = 0.;
  double no = 0.;
  for (size_t m = 0; m < _weights.size(); ++m)
  {
    const double logit = bounded(logits[m]);
    const double e = std::exp(-std::fabs(logit));
    yes += _weights[m] * (logit > 0. ? 1. : e) / (1. + e);
    no += _weights[m] * (logit > 0. ? e : 1.) / (1. + e);
  }
  return bounded(std::log(yes / no));
}

void mixture::learn(const std::vector<double>& logits, double outcome, double weight)
{
  _losses.resize(_weights.size());
  for (size_t m = 0; m < _weights.size(); ++m)
  {
    const double logit = bounded(logits[m]);
    _losses[m] = weight * (softplus(logit) - outcome * logit);
  }
  const double least = *std::min_element(_losses.begin(), _losses.end());
  double sum = 0.;
  for (size_t m = 0; m < _weights.size(); ++m)
  {
    _weights[m] *= std::exp(least - _losses[m]);
    sum += _weights[m];
  }
  const double spread = SHARE / static_cast<double>(_weights.size());
  for (auto& share : _weights) { share = (1. - SHARE) * share / sum + spread; }
}
}  // namespace vw_fastcb

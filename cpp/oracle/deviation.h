// How unsure a second-order oracle is of a logit, for --fastcb_optimism.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vw_fastcb
{
// From the variance of a logit, that of the intercept alone, and the number of columns. All three constants are by
// evidence; see benchmarks/science/README.md.
inline double deviation_of(double variance, double variance_of_intercept, size_t columns)
{
  // Many columns together have a large variance for long, though most of them mean little: the more there are, the
  // closer their deviation is kept to a bound.
  constexpr double FEW_COLUMNS = 9.;
  constexpr double BOUND_OF_MANY = 1.;
  const double many = std::max(0., 1. - FEW_COLUMNS / static_cast<double>(columns));
  const double of_columns = std::sqrt(variance / (1. + many * variance / (BOUND_OF_MANY * BOUND_OF_MANY)));
  // The intercept alone says how seldom an action was played, whatever the context.
  constexpr double FOR_SELDOM_PLAYED = .5;
  return of_columns + FOR_SELDOM_PLAYED * variance_of_intercept;
}
}  // namespace vw_fastcb

#include "oracle/deviation.h"
#include "oracle/mixture.h"
#include "oracle/random_features.h"
#include "unit_tests.h"

#include <cmath>
#include <random>
#include <vector>

using vw_fastcb::mixture;
using vw_fastcb::random_features;

namespace
{
double loss_of(double logit, double outcome) { return std::log1p(std::exp(-logit)) + (1. - outcome) * logit; }
}  // namespace

UNIT_TEST(a_mixture_says_the_mean_of_its_members_probabilities)
{
  const mixture members(2);
  const double probability = .5 / (1. + std::exp(-2.)) + .5 / (1. + std::exp(1.));
  EXPECT_NEAR(members.logit_of({2., -1.}), std::log(probability / (1. - probability)), 1e-12);
  EXPECT_NEAR(members.logit_of({3., 3.}), 3., 1e-12);
  EXPECT_NEAR(members.logit_of({1000., 1000.}), 50., 1e-9);
}

// Vovk's bound, which a fixed share makes a little larger: each event takes at most a thousandth from the best one.
UNIT_TEST(a_mixture_loses_at_most_the_logarithm_of_its_members_more_than_the_best)
{
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0., 2.);
  mixture members(4);
  std::vector<double> losses(4, 0.);
  double own = 0.;
  constexpr int EVENTS = 500;
  for (int t = 0; t < EVENTS; ++t)
  {
    const std::vector<double> logits{normal(random), normal(random), normal(random), normal(random)};
    const double outcome = normal(random) < logits[1] ? 1. : 0.;
    own += loss_of(members.logit_of(logits), outcome);
    for (size_t m = 0; m < 4; ++m) { losses[m] += loss_of(logits[m], outcome); }
    members.learn(logits, outcome, 1.);
  }
  for (const double loss : losses) { EXPECT(own <= loss + std::log(4.) - EVENTS * std::log(1. - .001)); }
  EXPECT(members.weights()[1] > .9);
}

UNIT_TEST(random_features_depend_on_the_names_of_columns_alone)
{
  random_features first;
  random_features second;
  for (const uint64_t name : {7, 11}) { first.add_column(name); }
  for (const uint64_t name : {11, 7}) { second.add_column(name); }
  std::vector<double> a(random_features::COUNT);
  std::vector<double> b(random_features::COUNT);
  first.of(std::vector<double>{.5, -2.}.data(), a.data());
  second.of(std::vector<double>{-2., .5}.data(), b.data());
  for (size_t k = 0; k < a.size(); ++k) { EXPECT_NEAR(a[k], b[k], 1e-12); }
}

// Their products stand for a Gaussian kernel: exp(-|x - y|^2 / (2 d)) times d, with d columns.
UNIT_TEST(products_of_random_features_are_close_to_a_kernel)
{
  random_features features;
  for (uint64_t name = 1; name <= 4; ++name) { features.add_column(name); }
  const std::vector<double> x{1., 0., -1., .5};
  const std::vector<double> y{.5, 0., -.5, .5};
  std::vector<double> of_x(random_features::COUNT);
  std::vector<double> of_y(random_features::COUNT);
  features.of(x.data(), of_x.data());
  features.of(y.data(), of_y.data());
  double same = 0.;
  double product = 0.;
  for (size_t k = 0; k < of_x.size(); ++k)
  {
    same += of_x[k] * of_x[k];
    product += of_x[k] * of_y[k];
  }
  constexpr double ERROR = .8;  // four times the deviation of a mean of a hundred
  EXPECT_NEAR(same, 4., ERROR);
  EXPECT_NEAR(product, 4. * std::exp(-.5 / 8.), ERROR);
}

UNIT_TEST(the_deviation_of_many_columns_stays_below_a_bound)
{
  EXPECT_NEAR(vw_fastcb::deviation_of(4., 0., 5), 2., 1e-12);
  EXPECT(vw_fastcb::deviation_of(1e6, 0., 1000) < 1.01);
  EXPECT_NEAR(vw_fastcb::deviation_of(0., 4., 5), 2., 1e-12);
}

#include "allocation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace vw_fastcb
{
namespace
{
// Four doubles that the processor handles at once.
constexpr size_t LANES = 4;
using four_doubles = double __attribute__((vector_size(LANES * sizeof(double))));
using bits = int64_t __attribute__((vector_size(LANES * sizeof(int64_t))));

// exp(x) for x in [-700, 0]: x is split into n log 2 + r with |r| <= log(2) / 2, exp(r) is a Taylor sum whose next term
// is below the last place, and n goes into the exponent.
four_doubles exp_of_negative(four_doubles x)
{
  constexpr double LOG2_HIGH = 0x1.62e42fefa0000p-1;  // n * LOG2_HIGH is exact
  constexpr double LOG2_LOW = 0x1.cf79abc9e3b3ap-40;
  constexpr double TO_INTEGER = 0x1.8p52;  // a number added to it is rounded to an integer
  const four_doubles shifted = x * 0x1.71547652b82fep+0 + TO_INTEGER;
  const four_doubles n = shifted - TO_INTEGER;
  const four_doubles r = (x - n * LOG2_HIGH) - n * LOG2_LOW;
  // Even and odd powers separately: two sums that need not wait for each other.
  constexpr double EVEN[] = {1. / 3628800., 1. / 40320., 1. / 720., 1. / 24., 1. / 2., 1.};
  constexpr double ODD[] = {1. / 39916800., 1. / 362880., 1. / 5040., 1. / 120., 1. / 6., 1.};
  const four_doubles square = r * r;
  four_doubles even = four_doubles{} + 1. / 479001600.;
  four_doubles odd = four_doubles{} + 1. / 6227020800.;
  for (const double term : EVEN) { even = even * square + term; }
  for (const double term : ODD) { odd = odd * square + term; }
  four_doubles sum = even + r * odd;
  bits raised, exponent;
  std::memcpy(&raised, &sum, sizeof(raised));
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  raised += exponent << 52;
  std::memcpy(&sum, &raised, sizeof(sum));
  return sum;
}

void sigmoids_of_lanes(const float* logits, double* probabilities)
{
  using floats = float __attribute__((vector_size(LANES * sizeof(float))));
  floats singles;
  std::memcpy(&singles, logits, sizeof(singles));
  const four_doubles x = __builtin_convertvector(singles, four_doubles);
  const four_doubles ones = four_doubles{} + 1.;
  const four_doubles lowest = four_doubles{} - 700.;
  const four_doubles negative = x < 0. ? x : -x;
  const four_doubles e = exp_of_negative(negative < lowest ? lowest : negative);
  const four_doubles result = (x < 0. ? e : ones) / (ones + e);
  std::memcpy(probabilities, &result, sizeof(result));
}

// The form that the rules share: action a gets weight / (count * weight + gamma * gap_a), the best one the rest.
// An action tied with the best has gap 0 and gets 1/count, even if the formula would be 0/0 (weight 0) or infinity * 0
// (unbounded gamma).
template <typename Gap>
void inverse_gap_weighting(size_t count, size_t best, double weight, double gamma, Gap gap, double* pmf)
{
  const double actions = static_cast<double>(count);
  const double share = 1. / actions;
  // No branch, so that the compiler can handle several actions at once.
  for (size_t a = 0; a < count; ++a)
  {
    const double weighted_gap = gamma * gap(a);
    const double p = weight / (actions * weight + weighted_gap);
    pmf[a] = weighted_gap > 0. ? p : share;
  }
  const double before = std::accumulate(pmf, pmf + best, 0.);
  const double others = std::accumulate(pmf + best + 1, pmf + count, before);
  pmf[best] = std::max(0., 1. - others);
}
}  // namespace

void sigmoids(const float* logits, size_t count, double* probabilities)
{
  const size_t whole = count - count % LANES;
  for (size_t a = 0; a < whole; a += LANES) { sigmoids_of_lanes(logits + a, probabilities + a); }
  if (whole == count) { return; }
  float last_logits[LANES] = {};
  double last_probabilities[LANES];
  std::copy(logits + whole, logits + count, last_logits);
  sigmoids_of_lanes(last_logits, last_probabilities);
  std::copy_n(last_probabilities, count - whole, probabilities + whole);
}

double power_of_two_above(double number) { return std::exp2(std::ceil(std::log2(std::max(1., number)))); }

double epochs_gamma(double loss, double regret, size_t actions)
{
  const auto count = static_cast<double>(actions);
  return std::max(std::sqrt(count * power_of_two_above(loss) / (3. * regret)), 10. * count);
}

double power_gamma(double scale, double exponent, uint64_t rounds)
{
  const auto t = static_cast<double>(rounds);
  // The paper's exponents: a root takes a tenth of the time of a power.
  if (exponent == 0.5) { return scale * std::sqrt(t); }
  if (exponent == 0.25) { return scale * std::sqrt(std::sqrt(t)); }
  return scale * std::pow(t, exponent);
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

void reweighted_igw_both(const double* losses, size_t count, double gamma, double* pmf)
{
  if (count == 0) { return; }
  const size_t best = static_cast<size_t>(std::min_element(losses, losses + count) - losses);
  const double lowest = losses[best];
  const double weight = std::min(lowest, 1. - lowest);
  inverse_gap_weighting(count, best, weight, gamma, [=](size_t a) { return losses[a] - lowest; }, pmf);
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

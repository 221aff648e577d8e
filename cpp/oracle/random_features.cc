#include "random_features.h"

#include <cmath>
#include <cstring>

namespace vw_fastcb
{
namespace
{
constexpr size_t LANES = 4;
using lanes = double __attribute__((vector_size(LANES * sizeof(double))));

constexpr double TWO_PI = 6.283185307179586;

// Numbers that look random and depend on two others (splitmix64).
uint64_t mixed(uint64_t number)
{
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

double uniform(uint64_t name, uint64_t place)
{
  constexpr int UNUSED_BITS = 11;
  constexpr double STEP = 0x1p-53;
  return (static_cast<double>(mixed(mixed(name) + place) >> UNUSED_BITS) + .5) * STEP;
}

lanes load(const double* from)
{
  lanes loaded;
  std::memcpy(&loaded, from, sizeof(loaded));
  return loaded;
}

// The cosine of 2 pi times a number, within 1e-9.
lanes cosine_of_turns(lanes turns)
{
  constexpr double TO_INTEGER = 0x1.8p52;                          // a number added to it is rounded to an integer
  const lanes part = turns - ((turns + TO_INTEGER) - TO_INTEGER);  // from -1/2 to 1/2
  // cos(2 x) = 1 - 2 sin(x)^2, with x from -pi/2 to pi/2.
  const lanes x = part * (.5 * TWO_PI);
  const lanes square = x * x;
  constexpr double TERMS[] = {1.6059043836821613e-10, -2.505210838544172e-08, 2.7557319223985893e-06,
      -1.984126984126984e-04, 8.333333333333333e-03, -1.6666666666666666e-01};
  lanes sum = lanes{} - 7.647163731819816e-13;
  for (const double term : TERMS) { sum = sum * square + term; }
  const lanes sine = x + x * square * sum;
  return 1. - 2. * sine * sine;
}
}  // namespace

random_features::random_features() : _phases(COUNT)
{
  constexpr uint64_t NAME_OF_PHASES = 0x70686173;
  for (size_t k = 0; k < COUNT; ++k) { _phases[k] = uniform(NAME_OF_PHASES, k); }
}

void random_features::add_column(uint64_t name)
{
  // Box and Muller's normal numbers, two at a time.
  for (size_t k = 0; k < COUNT; k += 2)
  {
    const double radius = std::sqrt(-2. * std::log(uniform(name, k)));
    const double angle = TWO_PI * uniform(name, k + 1);
    _directions.push_back(radius * std::cos(angle));
    _directions.push_back(radius * std::sin(angle));
  }
  ++_columns;
}

void random_features::of(const double* row, double* features) const
{
  const double count = _columns > 0 ? static_cast<double>(_columns) : 1.;
  const double to_turns = 1. / (std::sqrt(count) * TWO_PI);
  const double amplitude = std::sqrt(2. * count / static_cast<double>(COUNT));
  // As many at a time as the processor has registers for.
  constexpr size_t AT_ONCE = 5;
  static_assert(COUNT % (AT_ONCE * LANES) == 0, "features are computed several at a time");
  for (size_t first = 0; first < COUNT; first += AT_ONCE * LANES)
  {
    lanes sums[AT_ONCE] = {};
    const double* directions = _directions.data() + first;
    for (size_t column = 0; column < _columns; ++column, directions += COUNT)
    {
      const lanes value = lanes{} + row[column];
      for (size_t k = 0; k < AT_ONCE; ++k) { sums[k] += value * load(directions + k * LANES); }
    }
    for (size_t k = 0; k < AT_ONCE; ++k)
    {
      const size_t place = first + k * LANES;
      const lanes values = amplitude * cosine_of_turns(sums[k] * to_turns + load(_phases.data() + place));
      std::memcpy(features + place, &values, sizeof(values));
    }
  }
}
}  // namespace vw_fastcb

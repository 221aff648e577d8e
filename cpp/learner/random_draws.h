// The learner's draws: splitmix64 (Steele, Lea and Flood 2014), whose whole state is one number, so that a copy of a
// learner goes on with the same draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace vw_fastcb
{
class random_draws
{
public:
  explicit random_draws(uint64_t state) : _state(state) {}

  // Draws that nobody can repeat.
  static random_draws fresh()
  {
    std::random_device entropy;
    return random_draws((static_cast<uint64_t>(entropy()) << 32) ^ entropy());
  }

  // A number in [0,1) of 53 random bits.
  double next()
  {
    _state += 0x9e3779b97f4a7c15U;
    uint64_t z = _state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
  }
  uint64_t state() const { return _state; }

private:
  uint64_t _state;
};

// The action that a number in [0,1) picks. What rounding leaves between the sum and 1 goes to the last action that has
// a probability.
inline size_t pick(const double* pmf, size_t count, double draw)
{
  size_t picked = 0;
  double below = 0.;
  for (size_t a = 0; a < count; ++a)
  {
    if (pmf[a] <= 0.) { continue; }
    picked = a;
    below += pmf[a];
    if (draw < below) { break; }
  }
  return picked;
}
}  // namespace vw_fastcb

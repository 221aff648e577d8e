// What a second-order learner knows, apart from VW: its block, and the weights outside of it.
#pragma once

#include "newton_block.h"

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// By evidence; see benchmarks/science/README.md.
constexpr double PRIOR_OF_REST = 4.;

// The nearest number that VW's table can hold.
inline float to_float(double number)
{
  return static_cast<float>(std::min(double{FLT_MAX}, std::max(-double{FLT_MAX}, number)));
}

// A weight outside the block. Its evidence is the sum of curvatures, as for values relative to the largest one.
struct rest_weight
{
  uint64_t place;  // the number of the weight in VW's table
  double weight;
  double evidence;
  double largest;

  // The evidence, had there been a value as large as `value`.
  double evidence_at(double value) const { return evidence * (largest / value) * (largest / value); }
};

// In the order of their places.
class rest_weights
{
public:
  void add(const rest_weight& last) { _weights.push_back(last); }
  const rest_weight* at(uint64_t place) const
  {
    const auto first = std::lower_bound(_weights.begin(), _weights.end(), place,
        [](const rest_weight& weight, uint64_t wanted) { return weight.place < wanted; });
    return first != _weights.end() && first->place == place ? &*first : nullptr;
  }
  size_t size() const { return _weights.size(); }
  auto begin() const { return _weights.begin(); }
  auto end() const { return _weights.end(); }

private:
  std::vector<rest_weight> _weights;
};

// Where in VW's table a feature has the weight of a slot.
struct table_layout
{
  uint64_t mask;
  uint64_t slots_apart;

  uint64_t place_of(uint64_t key, size_t slot) const { return (key + slot * slots_apart) & mask; }
};

struct newton_knowledge
{
  newton_block block;
  rest_weights rest;
};
}  // namespace vw_fastcb

// The scores of VW's linear regressor (gd) for all weight slots of a line, computed as gd's predict computes each, bit
// for bit, in one pass over the features. VW's own pass, multipredict, leaves out features and products below 1e-10,
// which gd learns from. tests/python/test_scorers.py compares the two.
#pragma once

#include "event.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// A table of weights, in which those of a feature's slots lie `slots_apart` numbers apart.
struct weight_rows
{
  const float* numbers;
  uint64_t mask;
  uint32_t shift;
  size_t slots_apart;
};

class slot_scorer
{
public:
  // The scores of as many slots as `scores` has, before VW's bounds.
  void score(const keyed_features& features, const weight_rows& table, float initial, std::vector<float>& scores);

  // A feature's value and where its weights begin.
  struct term
  {
    float value;
    const float* weights;
  };

private:
  std::vector<term> _terms;
};
}  // namespace vw_fastcb

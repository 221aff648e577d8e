// What a linear regressor adds up to a score: the features of an example, those that its interactions make included.
#pragma once

#include "vw/core/example.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
// A part of a score. Features that share a weight are one term.
struct explained_term
{
  std::string name;  // of features as the example's audit has them; '*' makes products, '+' joins those that share
  uint64_t index;    // of its weight in VW's table
  double value;
  std::vector<double> weights;        // for a value of one, in each slot
  std::vector<double> contributions;  // to the score of each slot
};

// The terms of an example, without weights. The constant's name is empty.
std::vector<explained_term> terms_of(VW::workspace& all, VW::example& ec);
}  // namespace vw_fastcb

// What a regressor adds up to a score, by name: for explanations.
#pragma once

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
}  // namespace vw_fastcb

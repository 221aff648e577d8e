// Features where they lie: in a VW example, or in an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// The features of one namespace. Indices are as in a VW example: hashes times the distance between weights.
struct feature_span
{
  const float* values;
  const uint64_t* indices;
  size_t count;
  unsigned char name_space;
};

// A line of an event, such as an action: one span a namespace.
using feature_spans = std::vector<feature_span>;

// What VW's -q asks for: the namespaces of each product.
using interaction_list = std::vector<std::vector<unsigned char>>;  // VW's namespace_index is an unsigned char

// Whether all of them are pairs of different namespaces.
bool are_pairs(const interaction_list& interactions);

// How VW hashes a pair of features.
constexpr uint64_t PAIR_FACTOR = 16777619;
constexpr uint64_t hash_of_pair(uint64_t first, uint64_t second) { return (first * PAIR_FACTOR) ^ second; }
}  // namespace vw_fastcb

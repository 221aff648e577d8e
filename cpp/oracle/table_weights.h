// The second-order oracle's weights outside its block: features taken as they are, with a variance each. They are words
// and products, most of which an event lacks. Their weights lie in VW's own table, in gd's three numbers: the weight,
// the evidence for it, and the largest value. VW saves and prints them as gd's.
#pragma once

#include "event.h"
#include "newton_knowledge.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace vw_fastcb
{
// VW's table. A weight has 2^shift numbers, and those of a feature's slots lie `slots_apart` numbers apart.
struct weight_table
{
  float* numbers = nullptr;
  uint64_t mask = 0;
  uint32_t shift = 0;
  size_t slots_apart = 0;
  uint64_t constant_key = 0;   // of VW's constant
  uint64_t keys_per_name = 1;  // how far apart the keys of neighbouring hashes are

  float* at(uint64_t key, size_t slot) const { return numbers + (((key << shift) + slot * slots_apart) & mask); }
};

class table_weights
{
public:
  // The table is made after the oracle.
  explicit table_weights(std::function<weight_table()> table) : _find_table(std::move(table)) {}

  weight_table table() const { return _find_table(); }

  // The features of a line that is to be learned: some of those of an event. Those with the same key are one, with the
  // sum of their values, if `sums_repeated`; until version 0.3 they were two.
  void start(const keyed_features& features, const std::vector<uint32_t>& places, bool sums_repeated);

  double score(size_t slot) const;

  // The variance of the score of some of an event's features, which nothing is to learn from.
  double variance_of(const keyed_features& features, const std::vector<uint32_t>& places, size_t slot) const;

  // A step in two halves, as newton_step. The evidence of events before counts `share` of what it did.
  double variance(size_t slot);
  void take_step(size_t slot, double by, double evidence, double share);

  float weight(uint64_t key, size_t slot) const { return *table().at(key, slot); }
  void set_weight(uint64_t key, size_t slot, double value) const { *table().at(key, slot) = to_float(value); }

  // How many weights there are; they are counted where nobody knows.
  size_t count();
  void set_count(size_t count) { _count = count; }

  rest_weights knowledge() const;
  void take_over(const rest_weights& known);

private:
  struct feature
  {
    uint64_t key;
    float value;
  };
  void sum_repeated();

  std::function<weight_table()> _find_table;
  weight_table _table;
  std::optional<size_t> _count = 0;
  std::vector<feature> _features;
  std::vector<size_t> _places;  // where in _features a key is, plus one, by its hash
};
}  // namespace vw_fastcb

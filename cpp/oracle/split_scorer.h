// The scores of VW's linear regressor (gd), with quadratic interactions, for many actions that share features. The
// share of the shared features is added up once per event, half of each interaction's hash is computed once, and no
// features are copied. It works on plain arrays, so any source of features can use it.
//
// The terms of the sum are exactly gd's. With shared features or interactions they are added in another order, so a
// score equals gd's within float rounding; otherwise it equals gd's bit for bit. tests/python/test_scorers.py compares
// the two.
#pragma once

#include "feature_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// Eight numbers that the processor handles at once.
using eight_floats = float __attribute__((vector_size(32)));
using eight_ints = int32_t __attribute__((vector_size(32)));

class split_scorer
{
public:
  // Whether it can look up weights in this table: its indices must fit the processor's gather instruction.
  static bool covers_mask(uint64_t mask) { return mask <= INT32_MAX; }

  // Starts an event: `weights[(index + offset) & mask]` is the weight of a feature. The interactions are pairs of
  // different namespaces; they and the shared features must stay valid until the last score.
  void start_event(const float* weights, uint64_t mask, uint64_t offset, const interaction_list& interactions,
      const feature_spans& shared);

  // The score of one action from its own features, starting from `initial`. Sets `products` to the number of features
  // that its interactions made, including those among shared features.
  float score(const feature_spans& own, float initial, size_t& products);

private:
  // One side of a product, in blocks of eight features. `lanes` says which of the eight are used: all bits or none.
  struct block
  {
    eight_floats values;
    eight_ints hashes;
    eight_ints lanes;
  };
  struct side
  {
    std::vector<block> blocks;
    size_t count = 0;

    void clear();
    void add(const feature_span& features, uint64_t factor);
  };
  // The shared features of an interaction's two namespaces, as the other side of an action's features.
  struct prepared
  {
    unsigned char first_name;
    unsigned char second_name;
    side first;  // hashes already multiplied
    side second;
  };

  float score_products(const feature_spans& own, size_t& products);
  float weight(uint64_t index) const { return _weights[(index + _offset) & _mask]; }
  template <size_t count>
  eight_floats products_with_blocks(
      const block* blocks, const feature_span& features, uint64_t factor, eight_floats sums) const;
  eight_floats products_with(const side& other, const feature_span& features, uint64_t factor, eight_floats sums) const;

  const float* _weights = nullptr;
  uint64_t _mask = 0;
  uint64_t _offset = 0;
  std::vector<prepared> _interactions;
  size_t _interaction_count = 0;  // of this event; the memory is kept for the next one
  float _shared_sum = 0.f;
  size_t _shared_products = 0;
  side _own_second;
};
}  // namespace vw_fastcb

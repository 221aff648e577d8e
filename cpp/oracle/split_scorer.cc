#include "split_scorer.h"

#include <algorithm>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace vw_fastcb
{
namespace
{
constexpr size_t LANES = 8;

eight_floats look_up(const float* weights, eight_ints indices, eight_ints lanes)
{
#ifdef __AVX2__
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), weights, (__m256i)indices, (__m256)lanes, sizeof(float));
#else
  eight_floats found{};
  for (size_t i = 0; i < LANES; ++i) { found[i] = lanes[i] != 0 ? weights[indices[i]] : 0.f; }
  return found;
#endif
}

float total(eight_floats sums)
{
  const float low = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  const float high = (sums[4] + sums[5]) + (sums[6] + sums[7]);
  return low + high;
}
}  // namespace

void split_scorer::side::clear()
{
  blocks.clear();
  count = 0;
}

void split_scorer::side::add(const feature_span& features, uint64_t factor)
{
  for (size_t i = 0; i < features.count; ++i, ++count)
  {
    const size_t lane = count % LANES;
    if (lane == 0) { blocks.emplace_back(); }
    auto& block = blocks.back();
    block.values[lane] = features.values[i];
    block.hashes[lane] = static_cast<int32_t>(features.indices[i] * factor);
    block.lanes[lane] = -1;
  }
}

// Adds the products of each feature with each block. The compiler knows the number of blocks, so it keeps them in
// registers. Only the lowest bits of a hash matter: the mask removes the others.
template <size_t count>
[[gnu::always_inline]] inline eight_floats split_scorer::products_with_blocks(
    const block* blocks, const feature_span& features, uint64_t factor, eight_floats sums) const
{
  const auto mask = eight_ints{} + static_cast<int32_t>(_mask);
  const auto offset = eight_ints{} + static_cast<int32_t>(_offset);
  eight_floats values[count];
  eight_ints hashes[count];
  for (size_t i = 0; i < count; ++i)
  {
    values[i] = blocks[i].values;
    hashes[i] = blocks[i].hashes;
  }
  for (size_t f = 0; f < features.count; ++f)
  {
    const auto hash = eight_ints{} + static_cast<int32_t>(features.indices[f] * factor);
    const float value = features.values[f];
    for (size_t i = 0; i < count; ++i)
    {
      const auto weights = look_up(_weights, ((hashes[i] ^ hash) + offset) & mask, blocks[i].lanes);
      sums += values[i] * value * weights;
    }
  }
  return sums;
}

eight_floats split_scorer::products_with(
    const side& other, const feature_span& features, uint64_t factor, eight_floats sums) const
{
  const block* blocks = other.blocks.data();
  size_t left = other.blocks.size();
  for (; left > 4; left -= 4, blocks += 4) { sums = products_with_blocks<4>(blocks, features, factor, sums); }
  switch (left)
  {
    case 4:
      return products_with_blocks<4>(blocks, features, factor, sums);
    case 3:
      return products_with_blocks<3>(blocks, features, factor, sums);
    case 2:
      return products_with_blocks<2>(blocks, features, factor, sums);
    case 1:
      return products_with_blocks<1>(blocks, features, factor, sums);
    default:
      return sums;
  }
}

void split_scorer::start_event(const float* weights, uint64_t mask, uint64_t offset,
    const interaction_list& interactions, const feature_spans& shared)
{
  _weights = weights;
  _mask = mask;
  _offset = offset;
  _shared_sum = 0.f;
  _shared_products = 0;
  for (const auto& features : shared)
  {
    for (size_t i = 0; i < features.count; ++i) { _shared_sum += features.values[i] * weight(features.indices[i]); }
  }

  _interaction_count = interactions.size();
  if (_interactions.size() < _interaction_count) { _interactions.resize(_interaction_count); }
  eight_floats sums{};
  for (size_t n = 0; n < _interaction_count; ++n)
  {
    auto& at = _interactions[n];
    at.first_name = interactions[n][0];
    at.second_name = interactions[n][1];
    at.first.clear();
    at.second.clear();
    for (const auto& features : shared)
    {
      if (features.name_space == at.first_name) { at.first.add(features, PAIR_FACTOR); }
      else if (features.name_space == at.second_name) { at.second.add(features, 1); }
    }
    if (at.first.count == 0 || at.second.count == 0) { continue; }
    _shared_products += at.first.count * at.second.count;
    for (const auto& features : shared)
    {
      if (features.name_space == at.first_name) { sums = products_with(at.second, features, PAIR_FACTOR, sums); }
    }
  }
  _shared_sum += total(sums);
}

float split_scorer::score(const feature_spans& own, float initial, size_t& products)
{
  const float* const weights = _weights;
  const uint64_t mask = _mask;
  const uint64_t offset = _offset;
  float sum = initial + _shared_sum;
  for (const auto& features : own)
  {
    const float* const values = features.values;
    const uint64_t* const indices = features.indices;
    const size_t count = features.count;
#pragma GCC unroll 4
    for (size_t i = 0; i < count; ++i) { sum += values[i] * weights[(indices[i] + offset) & mask]; }
  }
  products = _shared_products;
  return _interaction_count == 0 ? sum : sum + score_products(own, products);
}

float split_scorer::score_products(const feature_spans& own, size_t& products)
{
  eight_floats sums{};
  for (size_t n = 0; n < _interaction_count; ++n)
  {
    const auto& at = _interactions[n];
    const feature_span* first = nullptr;
    const feature_span* second = nullptr;
    for (const auto& features : own)
    {
      if (features.name_space == at.first_name) { first = &features; }
      else if (features.name_space == at.second_name) { second = &features; }
    }
    if (first != nullptr && at.second.count > 0)
    {
      sums = products_with(at.second, *first, PAIR_FACTOR, sums);
      products += at.second.count * first->count;
    }
    if (second == nullptr) { continue; }
    if (at.first.count > 0)
    {
      sums = products_with(at.first, *second, 1, sums);
      products += at.first.count * second->count;
    }
    if (first != nullptr)
    {
      _own_second.clear();
      _own_second.add(*second, 1);
      sums = products_with(_own_second, *first, PAIR_FACTOR, sums);
      products += first->count * second->count;
    }
  }
  return total(sums);
}
}  // namespace vw_fastcb

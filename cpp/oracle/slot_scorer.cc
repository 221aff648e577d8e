#include "slot_scorer.h"

#include <algorithm>
#include <cstring>

namespace vw_fastcb
{
namespace
{
// Eight floats that the processor multiplies and adds at once.
using floats = float __attribute__((vector_size(32)));
constexpr size_t LANES = sizeof(floats) / sizeof(float);

// Adds up features one after another, as gd does, for neighbouring slots whose weights are `apart` floats apart,
// starting `begin` floats after those of the first slot. It also adds up what is between the weights, and discards it:
// processors add whole lines of neighbours fastest, and sums stay in registers if the compiler knows their number.
template <size_t apart, size_t lines>
void sum_lines(const std::vector<slot_scorer::term>& terms, size_t begin, float initial, float* scores)
{
  floats sums[lines];
  for (auto& sum : sums) { sum = floats{} + initial; }
  for (const auto& term : terms)
  {
    for (size_t i = 0; i < lines; ++i)
    {
      floats weights;
      std::memcpy(&weights, term.weights + begin + i * LANES, sizeof(weights));
      sums[i] += term.value * weights;
    }
  }
  for (size_t i = 0; i < lines * LANES; i += apart) { scores[(begin + i) / apart] = sums[i / LANES][i % LANES]; }
}

template <size_t apart>
void sum_slots(const std::vector<slot_scorer::term>& terms, float initial, float* scores, size_t count)
{
  const size_t end = count * apart;
  size_t begin = 0;
  for (; begin + 8 * LANES <= end; begin += 8 * LANES) { sum_lines<apart, 8>(terms, begin, initial, scores); }
  for (; begin + 4 * LANES <= end; begin += 4 * LANES) { sum_lines<apart, 4>(terms, begin, initial, scores); }
  for (; begin + LANES <= end; begin += LANES) { sum_lines<apart, 1>(terms, begin, initial, scores); }
  for (; begin < end; begin += apart)
  {
    float sum = initial;
    for (const auto& term : terms) { sum += term.value * term.weights[begin]; }
    scores[begin / apart] = sum;
  }
}

using adder = void (*)(const std::vector<slot_scorer::term>&, float, float*, size_t);

// VW's gd puts weights 1, 2 or 4 floats apart.
adder adder_for(size_t apart)
{
  switch (apart)
  {
    case 1:
      return sum_slots<1>;
    case 2:
      return sum_slots<2>;
    case 4:
      return sum_slots<4>;
    default:
      return nullptr;
  }
}

// For slots that wrap around the end of the table, or have another distance than the cases above.
void add_each(
    const std::vector<slot_scorer::term>& terms, const weight_rows& table, float initial, float* scores, size_t count)
{
  std::fill_n(scores, count, initial);
  for (const auto& term : terms)
  {
    const auto first = static_cast<size_t>(term.weights - table.numbers);
    for (size_t slot = 0; slot < count; ++slot)
    {
      scores[slot] += term.value * table.numbers[(first + slot * table.slots_apart) & table.mask];
    }
  }
}
}  // namespace

void slot_scorer::score(
    const keyed_features& features, const weight_rows& table, float initial, std::vector<float>& scores)
{
  const size_t count = scores.size();
  _terms.resize(features.count);
  const float* last = table.numbers;
  for (size_t i = 0; i < features.count; ++i)
  {
    const float* const weights = table.numbers + (features.keys[i] << table.shift);
    _terms[i] = {features.values[i], weights};
    last = std::max(last, weights);
  }
  const auto end = static_cast<size_t>(last - table.numbers) + count * table.slots_apart;
  const auto add = end > table.mask + 1 ? nullptr : adder_for(table.slots_apart);
  if (add != nullptr) { add(_terms, initial, scores.data(), count); }
  else { add_each(_terms, table, initial, scores.data(), count); }
}
}  // namespace vw_fastcb

#include "slot_scorer.h"

#include "vw/core/global_data.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/simple_label.h"

#include <algorithm>
#include <cstring>

namespace vw_fastcb
{
namespace
{
// Eight floats that the processor multiplies and adds at once.
using floats = float __attribute__((vector_size(32)));
constexpr size_t LANES = sizeof(floats) / sizeof(float);

// Adds up features one after another, as gd does, for neighbouring slots whose weights are `step` floats apart,
// starting `begin` floats after those of the first slot. It also adds up what is between the weights, and discards it:
// processors add whole lines of neighbours fastest, and sums stay in registers if the compiler knows their number.
template <size_t step, size_t lines>
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
  for (size_t i = 0; i < lines * LANES; i += step) { scores[(begin + i) / step] = sums[i / LANES][i % LANES]; }
}

template <size_t step>
void sum_slots(const std::vector<slot_scorer::term>& terms, float initial, float* scores, size_t count)
{
  const size_t end = count * step;
  size_t begin = 0;
  for (; begin + 8 * LANES <= end; begin += 8 * LANES) { sum_lines<step, 8>(terms, begin, initial, scores); }
  for (; begin + 4 * LANES <= end; begin += 4 * LANES) { sum_lines<step, 4>(terms, begin, initial, scores); }
  for (; begin + LANES <= end; begin += LANES) { sum_lines<step, 1>(terms, begin, initial, scores); }
  for (; begin < end; begin += step)
  {
    float sum = initial;
    for (const auto& term : terms) { sum += term.value * term.weights[begin]; }
    scores[begin / step] = sum;
  }
}

using adder = void (*)(const std::vector<slot_scorer::term>&, float, float*, size_t);

// VW's gd puts weights 1, 2 or 4 floats apart.
adder adder_for(size_t step)
{
  switch (step)
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
void add_one_by_one(const std::vector<slot_scorer::term>& terms, const VW::dense_parameters& weights, size_t step,
    float initial, float* scores, size_t count)
{
  std::fill_n(scores, count, initial);
  for (const auto& term : terms)
  {
    const auto first = static_cast<size_t>(term.weights - weights.data());
    for (size_t slot = 0; slot < count; ++slot) { scores[slot] += term.value * weights[first + slot * step]; }
  }
}

struct term_list
{
  std::vector<slot_scorer::term>& terms;
  const float* weights;
  size_t mask;
};

void add_term(term_list& list, float value, uint64_t index)
{
  list.terms.push_back({value, list.weights + (index & list.mask)});
}
}  // namespace

void slot_scorer::score(VW::example& ec, size_t step, float* scores, size_t count)
{
  const float initial = ec.ex_reduction_features.template get<VW::simple_label_reduction_features>().initial;
  const float* const weights = _all->weights.dense_weights.data();
  const size_t mask = _all->weights.dense_weights.mask();
  find_terms(ec);
  const float* last = weights;
  for (const auto& term : _terms) { last = std::max(last, term.weights); }
  const bool goes_round = static_cast<size_t>(last - weights) + count * step - 1 > mask;
  const auto add = goes_round ? nullptr : adder_for(step);
  if (add != nullptr) { add(_terms, initial, scores, count); }
  else { add_one_by_one(_terms, _all->weights.dense_weights, step, initial, scores, count); }
}

void slot_scorer::find_terms(VW::example& ec)
{
  const float* const weights = _all->weights.dense_weights.data();
  const size_t mask = _all->weights.dense_weights.mask();
  if (!ec.interactions->empty() || !ec.extent_interactions->empty() || _all->feature_tweaks_config.ignore_some_linear)
  {
    term_list list{_terms, weights, mask};
    _terms.clear();
    VW::foreach_feature<term_list, uint64_t, add_term>(*_all, ec, list, ec.num_features_from_interactions);
    return;
  }
  size_t count = 0;
  for (const auto ns : ec.indices) { count += ec.feature_space[ns].size(); }
  _terms.resize(count);
  auto* term = _terms.data();
  for (const auto ns : ec.indices)
  {
    const auto& features = ec.feature_space[ns];
    const float* value = features.values.begin();
    for (const auto index : features.indices) { *term++ = {*value++, weights + ((index + ec.ft_offset) & mask)}; }
  }
  ec.num_features_from_interactions = 0;
}
}  // namespace vw_fastcb

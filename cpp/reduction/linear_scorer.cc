#include "linear_scorer.h"

#include "events.h"

#include "vw/core/global_data.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/shared_data.h"
#include "vw/core/simple_label.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vw_fastcb
{
namespace
{
float initial_score(VW::example& ec)
{
  return ec.ex_reduction_features.template get<VW::simple_label_reduction_features>().initial;
}

// VW's prediction bounds. A sum that is not finite comes from such a feature, or from weights that overflowed: then VW
// makes it 0.
float finalized(VW::workspace& all, const VW::example& ec, float sum)
{
  if (sum >= all.sd->min_label && sum <= all.sd->max_label) { return sum; }
  if (!std::isfinite(sum)) { check_features(ec); }
  return VW::details::finalize_prediction(*all.sd, all.logger, sum);
}

// Eight floats that a processor multiplies and adds at once.
using floats = float __attribute__((vector_size(32)));
constexpr size_t LANES = sizeof(floats) / sizeof(float);

// Adds up features one after another, as gd does, for neighbouring slots whose weights lie `step` floats apart,
// beginning `begin` floats after the first one's. What lies between the weights is added up as well and thrown away:
// whole lines of neighbours are what a processor adds fastest, and sums whose number the compiler knows stay in its
// registers.
template <size_t step, size_t lines>
void sum_lines(const std::vector<linear_scorer::term>& terms, size_t begin, float initial, float* logits)
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
  for (size_t i = 0; i < lines * LANES; i += step) { logits[(begin + i) / step] = sums[i / LANES][i % LANES]; }
}

template <size_t step>
void sum_slots(const std::vector<linear_scorer::term>& terms, float initial, float* logits, size_t count)
{
  const size_t end = count * step;
  size_t begin = 0;
  for (; begin + 8 * LANES <= end; begin += 8 * LANES) { sum_lines<step, 8>(terms, begin, initial, logits); }
  for (; begin + 4 * LANES <= end; begin += 4 * LANES) { sum_lines<step, 4>(terms, begin, initial, logits); }
  for (; begin + LANES <= end; begin += LANES) { sum_lines<step, 1>(terms, begin, initial, logits); }
  for (; begin < end; begin += step)
  {
    float sum = initial;
    for (const auto& term : terms) { sum += term.value * term.weights[begin]; }
    logits[begin / step] = sum;
  }
}

using adder = void (*)(const std::vector<linear_scorer::term>&, float, float*, size_t);

// VW's gd lays weights 1, 2 or 4 floats apart.
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
}  // namespace

linear_scorer::linear_scorer(VW::workspace& all)
    : _all(&all)
    , _only_adds(all.loss_config.reg_mode == 0 && !all.output_config.audit && !all.output_config.hash_inv &&
                 !all.weights.sparse && !all.feature_tweaks_config.ignore_some_linear)
{
}

bool linear_scorer::applies(const VW::example& ec) const
{
  return _only_adds && ec.interactions->empty() && ec.extent_interactions->empty() && _all->sd->contraction == 1.;
}

float linear_scorer::score(VW::example& ec) const
{
  const float* const weights = &_all->weights.dense_weights[0];
  const size_t mask = _all->weights.dense_weights.mask();
  const size_t offset = ec.ft_offset;
  float sum = initial_score(ec);
  for (const auto ns : ec.indices)
  {
    const auto& features = ec.feature_space[ns];
    const float* value = features.values.begin();
    for (const auto index : features.indices) { sum += *value++ * weights[(index + offset) & mask]; }
  }
  ec.num_features_from_interactions = 0;
  ec.partial_prediction = sum;
  return finalized(*_all, ec, sum);
}

void linear_scorer::score_slots(VW::example& ec, size_t step, float* logits, size_t count)
{
  const float initial = initial_score(ec);
  const auto add = adder_for(step);
  if (add != nullptr && find_terms(ec, count * step)) { add(_terms, initial, logits, count); }
  else { add_one_by_one(ec, step, initial, logits, count); }
  ec.num_features_from_interactions = 0;
  const float least = _all->sd->min_label;
  const float most = _all->sd->max_label;
  const auto within = std::count_if(logits, logits + count, [=](float x) { return x >= least && x <= most; });
  if (static_cast<size_t>(within) == count) { return; }
  for (size_t slot = 0; slot < count; ++slot) { logits[slot] = finalized(*_all, ec, logits[slot]); }
}

bool linear_scorer::find_terms(const VW::example& ec, size_t width)
{
  const float* const weights = &_all->weights.dense_weights[0];
  const size_t mask = _all->weights.dense_weights.mask();
  size_t count = 0;
  for (const auto ns : ec.indices) { count += ec.feature_space[ns].size(); }
  _terms.resize(count);
  auto* term = _terms.data();
  size_t last = 0;
  for (const auto ns : ec.indices)
  {
    const auto& features = ec.feature_space[ns];
    const float* value = features.values.begin();
    for (const auto index : features.indices)
    {
      const size_t first = (index + ec.ft_offset) & mask;
      last = std::max(last, first);
      *term++ = {*value++, weights + first};
    }
  }
  return last + width - 1 <= mask;
}

void linear_scorer::add_one_by_one(const VW::example& ec, size_t step, float initial, float* logits, size_t count) const
{
  const auto& weights = _all->weights.dense_weights;
  std::fill_n(logits, count, initial);
  for (const auto ns : ec.indices)
  {
    const auto& features = ec.feature_space[ns];
    for (size_t i = 0; i < features.size(); ++i)
    {
      const float value = features.values[i];
      const size_t first = features.indices[i] + ec.ft_offset;
      for (size_t slot = 0; slot < count; ++slot) { logits[slot] += value * weights[first + slot * step]; }
    }
  }
}
}  // namespace vw_fastcb

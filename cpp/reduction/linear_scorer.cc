#include "linear_scorer.h"

#include "vw/core/global_data.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/shared_data.h"
#include "vw/core/simple_label.h"

#include <algorithm>

namespace vw_fastcb
{
namespace
{
float initial_score(VW::example& ec)
{
  return ec.ex_reduction_features.template get<VW::simple_label_reduction_features>().initial;
}

// Adds value * weight to each slot. A step known to the compiler lets it add several at a time; VW's gd lays weights 1,
// 2 or 4 floats apart.
template <size_t step>
void add_slots(float value, const float* weights, float* logits, size_t count)
{
  for (size_t slot = 0; slot < count; ++slot) { logits[slot] += value * weights[slot * step]; }
}

using adder = void (*)(float, const float*, float*, size_t);

adder adder_for(size_t step)
{
  switch (step)
  {
    case 1:
      return add_slots<1>;
    case 2:
      return add_slots<2>;
    case 4:
      return add_slots<4>;
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
  return VW::details::finalize_prediction(*_all->sd, _all->logger, sum);
}

void linear_scorer::score_slots(VW::example& ec, size_t step, float* logits, size_t count) const
{
  const auto& weights = _all->weights.dense_weights;
  const size_t mask = weights.mask();
  const auto add = adder_for(step);
  std::fill_n(logits, count, initial_score(ec));
  for (const auto ns : ec.indices)
  {
    const auto& features = ec.feature_space[ns];
    for (size_t i = 0; i < features.size(); ++i)
    {
      const float value = features.values[i];
      const size_t first = (features.indices[i] + ec.ft_offset) & mask;
      const bool wraps = first + (count - 1) * step > mask;
      if (add != nullptr && !wraps) { add(value, &weights[first], logits, count); }
      else
      {
        for (size_t slot = 0; slot < count; ++slot) { logits[slot] += value * weights[first + slot * step]; }
      }
    }
  }
  ec.num_features_from_interactions = 0;
  for (size_t slot = 0; slot < count; ++slot)
  {
    logits[slot] = VW::details::finalize_prediction(*_all->sd, _all->logger, logits[slot]);
  }
}
}  // namespace vw_fastcb

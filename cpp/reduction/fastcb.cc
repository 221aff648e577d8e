#include "fastcb.h"

#include "explorer.h"
#include "strict/flags.h"

#include "vw/common/vw_throw.h"
#include "vw/config/options.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/shared_data.h"

#include "fmt/format.h"

#include <algorithm>
#include <string>
#include <vector>

void VW::reductions::fastcb_check_flags(const VW::config::options_i& options) { vw_fastcb::refuse_flags(options); }

void VW::reductions::fastcb_prefer_new_gamma(
    std::unordered_map<std::string, std::vector<std::string>>& kept, const VW::config::options_i& given)
{
  if (kept.count("fastcb") == 0) { return; }
  for (const char* flag : {"gamma_scale", "gamma_exponent"})
  {
    if (given.was_supplied(flag)) { kept.erase(flag); }
  }
}

void VW::reductions::fastcb_use_cbify_costs(VW::config::options_i& options, float loss0, float loss1, bool flip_sign)
{
  if (!options.was_supplied("fastcb")) { return; }
  const auto range = std::minmax({flip_sign ? -loss0 : loss0, flip_sign ? -loss1 : loss1});
  if (!options.was_supplied("cb_min_cost")) { options.insert("cb_min_cost", fmt::format("{}", range.first)); }
  if (!options.was_supplied("cb_max_cost")) { options.insert("cb_max_cost", fmt::format("{}", range.second)); }
}

bool VW::reductions::fastcb_takes_shared_features(const VW::LEARNER::learner& base)
{
  return base.get_name() == "cb_explore_adf_fastcb";
}

void VW::reductions::fastcb_check_merging(const VW::workspace* base, const std::vector<const VW::workspace*>& models)
{
  auto all = models;
  if (base != nullptr) { all.push_back(base); }
  for (const auto* model : all)
  {
    if (model->options->was_supplied("fastcb") && !model->runtime_config.training)
    {
      THROW(
          "a model that was loaded with -t knows its weights, but not how sure they are, and cannot be merged. Load it "
          "without -t.");
    }
  }
}

float VW::reductions::fastcb_weight_learned(const VW::workspace& model)
{
  if (!model.options->was_supplied("fastcb")) { return static_cast<float>(model.sd->weighted_labeled_examples); }
  return static_cast<float>(vw_fastcb::explorer::of(model)->weight_learned());
}

bool VW::reductions::fastcb_merges_weights(const VW::workspace& merged)
{
  const auto* const explorer = vw_fastcb::explorer::of(merged);
  return explorer != nullptr && explorer->oracle().merges_table();
}

void VW::reductions::fastcb_merge_largest_values(const std::vector<const VW::workspace*>& models, VW::workspace& merged)
{
  const auto place = merged.initial_weights_config.normalized_idx;
  if (!merged.options->was_supplied("fastcb") || place == 0) { return; }
  auto& weights = merged.weights.dense_weights;
  for (const auto* model : models)
  {
    const auto& own = model->weights.dense_weights;
    for (uint64_t at = place; at <= weights.mask(); at += weights.stride())
    {
      weights.data()[at] = std::max(weights.data()[at], own.data()[at]);
    }
  }
}

void VW::reductions::fastcb_lend_step_states(const VW::workspace& all, std::vector<details::gd_per_model_state>& states)
{
  if (auto* const explorer = vw_fastcb::explorer::of(all)) { explorer->borrow_step_states(states); }
}

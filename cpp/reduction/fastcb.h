// The setup functions of the FastCB reduction, named like VW's own, and what VW's patched files call.
#pragma once

#include "vw/core/vw_fwd.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace VW
{
namespace reductions
{
namespace details
{
class gd_per_model_state;
}

// --cb_explore_adf --fastcb
std::shared_ptr<VW::LEARNER::learner> cb_explore_adf_fastcb_setup(VW::setup_base_i& stack_builder);

// --cb_explore K --fastcb
std::shared_ptr<VW::LEARNER::learner> cb_explore_fastcb_setup(VW::setup_base_i& stack_builder);

// Refuses flags that cannot be combined with --fastcb, before the reductions they belong to act on them.
void fastcb_check_flags(const VW::config::options_i& options);

// Takes the flags that were given anew out of those that a model of FastCB keeps, before VW compares the two: gamma may
// change from one run to the next, but SquareCB declares the same flags, and there it may not.
void fastcb_prefer_new_gamma(
    std::unordered_map<std::string, std::vector<std::string>>& kept, const VW::config::options_i& given);

// cbify makes costs between loss0 and loss1 (their negatives with --flip_loss_sign). Tells FastCB so, if it is used and
// the user did not declare another range.
void fastcb_use_cbify_costs(VW::config::options_i& options, float loss0, float loss1, bool flip_sign);

// Whether a learner is FastCB's, which takes the line of shared features as it is: VW's merger need not copy it into
// every action. Learners in between, such as cb_sample, expect VW's merger above them.
bool fastcb_takes_shared_features(const VW::LEARNER::learner& base);

// Merging models. Refuses those that cannot be merged.
void fastcb_check_merging(const VW::workspace* base, const std::vector<const VW::workspace*>& models);

// The weight of what a model has learned: how much it counts where VW averages weights.
float fastcb_weight_learned(const VW::workspace& model);

// Whether FastCB merges the weights in VW's table itself.
bool fastcb_merges_weights(const VW::workspace& merged);

// Where VW has averaged weights and forgotten the largest value of each feature (--normalized).
void fastcb_merge_largest_values(const std::vector<const VW::workspace*>& models, VW::workspace& merged);

// What VW's regressors know of their step size beside the weights: gd for each slot, ftrl for all together. FastCB
// takes it along where a model gets room for more actions. The states live as long as the workspace.
void fastcb_lend_step_states(const VW::workspace& all, std::vector<details::gd_per_model_state>& states);
}  // namespace reductions
}  // namespace VW

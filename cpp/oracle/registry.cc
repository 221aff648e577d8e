#include "registry.h"

#include "ensemble.h"
#include "gd.h"
#include "newton.h"

#include "vw/core/constant.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"

#include <algorithm>
#include <stdexcept>

namespace vw_fastcb
{
namespace
{
weight_table table_of(VW::workspace& all, const VW::LEARNER::learner& below)
{
  auto& weights = all.weights.dense_weights;
  const auto width = static_cast<uint64_t>(all.reduction_state.total_feature_width);
  const auto constant = (VW::details::CONSTANT * width) & (weights.mask() >> weights.stride_shift());
  return {weights.data(), weights.mask(), weights.stride_shift(), below.feature_width_below, constant, width};
}

std::unique_ptr<regressor> make_gd(const oracle_request& wanted)
{
  return std::make_unique<gd>(wanted.all, wanted.below);
}

std::unique_ptr<regressor> make_newton(const oracle_request& wanted)
{
  const auto table = [all = &wanted.all, below = &wanted.below] { return table_of(*all, *below); };
  return std::make_unique<newton>(table, wanted.capacity, wanted.memory);
}

std::unique_ptr<regressor> make_ensemble(const oracle_request& wanted)
{
  const auto table = [all = &wanted.all, below = &wanted.below] { return table_of(*all, *below); };
  auto descent = std::make_unique<gd>(wanted.all, wanted.below);
  const bool multiplies = !wanted.all.feature_tweaks_config.interactions.empty();
  return std::make_unique<ensemble>(
      table, std::move(descent), wanted.members, multiplies, wanted.capacity, wanted.memory);
}

std::vector<oracle_kind>& kinds()
{
  static std::vector<oracle_kind> all{{"gd", make_gd, 10.f, .5f, /*replaces_gd=*/false},
      {"newton", make_newton, 50.f, .4f, /*replaces_gd=*/true, /*has_capacity=*/true, /*knows_weights=*/true,
          /*has_deviations=*/true},
      {"ensemble", make_ensemble, 200.f, .5f, /*replaces_gd=*/false, /*has_capacity=*/true, /*knows_weights=*/false,
          /*has_deviations=*/true, /*has_members=*/true, /*can_merge=*/false}};
  return all;
}
}  // namespace

const std::vector<oracle_kind>& oracle_kinds() { return kinds(); }

const oracle_kind& oracle_named(const std::string& name)
{
  const auto named = std::find_if(kinds().begin(), kinds().end(), [&](const auto& kind) { return kind.name == name; });
  if (named == kinds().end()) { throw std::invalid_argument("there is no oracle '" + name + "'"); }
  return *named;
}

bool add_oracle(const oracle_kind& kind)
{
  kinds().push_back(kind);
  return true;
}
}  // namespace vw_fastcb

#include "fastcb.h"

#include "strict/flags.h"

#include "vw/config/options.h"
#include "vw/core/learner.h"

#include "fmt/format.h"

#include <algorithm>

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

vw_fastcb::oracle& VW::reductions::fastcb_oracle(VW::LEARNER::learner& top)
{
  return top.is_multiline() ? cb_explore_adf_fastcb_oracle(*top.get_learner_by_name_prefix("cb_explore_adf_fastcb"))
                            : cb_explore_fastcb_oracle(*top.get_learner_by_name_prefix("cb_explore_fastcb"));
}

// What VW's setup_example makes of features, where no flag asks it for more than to make room between weights.
#pragma once

#include "vw/core/global_data.h"
#include "vw/core/parser.h"

#include <cstdint>

namespace vw_fastcb
{
// Whether every feature of an example stays what it is: none ignored, cut off, sorted, or joined with its neighbours.
inline bool keeps_features(const VW::workspace& all)
{
  const auto& tweaks = all.feature_tweaks_config;
  return !tweaks.ignore_some && tweaks.skip_gram_transformer == nullptr && tweaks.limit_strings.empty() &&
         !all.parser_runtime.example_parser->sort_features;
}

// What a feature's place is multiplied with.
inline uint64_t room_per_feature(const VW::workspace& all)
{
  return static_cast<uint64_t>(all.reduction_state.total_feature_width) << all.weights.stride_shift();
}
}  // namespace vw_fastcb

// Which features an event may have.
#pragma once

#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

namespace vw_fastcb
{
// Both refuse features that are not finite numbers in VW's single precision. They return the largest sum of the squares
// of a namespace of a line.
float check_features(const VW::multi_ex& lines);
float check_features(const VW::example& line);
}  // namespace vw_fastcb

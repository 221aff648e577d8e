// What the features of an event may be.
#pragma once

#include "vw/core/constant.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <array>

namespace vw_fastcb
{
// Refuses lines with a feature that is not finite, or so large that its square, or that of a product the interactions
// make of it, is not: VW would learn weights from it that are not numbers.
void check_features(const VW::workspace& all, const VW::multi_ex& lines);
void check_features(const VW::workspace& all, const VW::example& line);

// The same for features that are not in an example yet: what their squares add up to, by namespace.
using sums_of_squares = std::array<double, VW::NUM_NAMESPACES>;
void check_products(const VW::workspace& all, const sums_of_squares& sums);
}  // namespace vw_fastcb

// What a linear regressor adds up to a score: the features of an example, those that its interactions make included.
#pragma once

#include "explained_term.h"

#include "vw/core/example.h"
#include "vw/core/vw_fwd.h"

#include <vector>

namespace vw_fastcb
{
// The terms of an example, without weights. The constant's name is empty.
std::vector<explained_term> terms_of(VW::workspace& all, VW::example& ec);
}  // namespace vw_fastcb

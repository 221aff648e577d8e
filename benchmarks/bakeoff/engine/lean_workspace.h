// VW workspaces for many short passes. VW asks each of its hundred reductions whether the flags are meant for it, which
// takes longer than a pass over a small data set. The first workspace finds the answer; later ones whose flags differ
// in nothing but step sizes and other plain numbers ask just those that said yes.
#pragma once

#include "vw/core/vw_fwd.h"

#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
// As VW::initialize(arguments), for examples of one's own: VW's parser stays idle. Safe to call from many threads.
std::unique_ptr<VW::workspace> make_lean_workspace(const std::vector<std::string>& arguments);
}  // namespace vw_fastcb

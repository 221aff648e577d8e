// The setup function of the strict stage, named like those of VW's reductions.
#pragma once

#include "vw/core/vw_fwd.h"

#include <memory>

namespace VW
{
namespace reductions
{
std::shared_ptr<VW::LEARNER::learner> fastcb_strict_setup(VW::setup_base_i& stack_builder);
}  // namespace reductions
}  // namespace VW

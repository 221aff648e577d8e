// Checks events with several slots, --ccb_explore_adf and --slates, as the user gave them. VW translates such an event
// into one bandit event per slot and learns them in turn: it would find a bad label in the second slot too late, and
// drop a label that names an unknown action or move it to another action.
#pragma once

#include "cost_range.h"

#include "vw/core/multi_ex.h"

namespace vw_fastcb
{
// Both refuse bad events.
void check_conditional_event(const VW::multi_ex& lines, const cost_range& range);
void check_slates_event(const VW::multi_ex& lines, const cost_range& range);
}  // namespace vw_fastcb

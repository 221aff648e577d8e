// Events of several slots, --ccb_explore_adf and --slates, checked as the user gave them. VW translates such an event
// into one bandit event per slot and learns them one after another: a bad label found in the second slot would come too
// late, and one that names an action which is not there would be dropped or land on another action.
#pragma once

#include "cost_range.h"

#include "vw/core/multi_ex.h"

namespace vw_fastcb
{
// Both refuse bad events.
void check_conditional_event(const VW::multi_ex& lines, const cost_range& range);
void check_slates_event(const VW::multi_ex& lines, const cost_range& range);
}  // namespace vw_fastcb

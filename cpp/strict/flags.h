// Flags that make no sense with --fastcb. None is accepted and then ignored: each is refused with a sentence that says
// why.
#pragma once

#include "vw/core/vw_fwd.h"

#include <string>

namespace vw_fastcb
{
// Throws the sentence unless `holds`.
void require(bool holds, const std::string& sentence);

// Checks the flags given with --fastcb. Call it before any reduction adds its own flags.
void refuse_flags(const VW::config::options_i& options);

// Refuses flags that VW knows but that nothing in the finished stack reads. Call it once the base learner is set up.
void refuse_ignored_flags(const VW::config::options_i& options);

// Refuses flags of VW's own regressor, where another one takes its place.
void refuse_flags_of_gd(const VW::config::options_i& options);

// Refuses flags that contradict what an oracle of second order is.
void refuse_flags_against_second_order(const VW::config::options_i& options, const std::string& oracle);

// Refuses FastCB's own flags without --fastcb, and --fastcb without a kind of actions.
void refuse_orphans(const VW::config::options_i& options);
}  // namespace vw_fastcb

// Combinations of flags that make no sense with --fastcb. None is accepted and then ignored; each is refused with a
// sentence that says why.
#pragma once

#include "vw/core/vw_fwd.h"

#include <string>

namespace vw_fastcb
{
// Throws the sentence unless `holds`.
void require(bool holds, const std::string& sentence);

// What was given beside --fastcb. To be called before any reduction has added flags of its own.
void refuse_flags(const VW::config::options_i& options);

// Flags that VW knows and that no reduction of the finished stack reads. To be called when the base learner is set up.
void refuse_ignored_flags(const VW::config::options_i& options);

// FastCB's own flags without what they belong to.
void refuse_orphans(const VW::config::options_i& options);
}  // namespace vw_fastcb

// What the reduction adds to a VW model file: how many events were learned or had no label, and a seal over everything
// the learners below it write, so that a truncated or foreign file is an error and never a silent start.
#pragma once

#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>

namespace vw_fastcb
{
struct model_state
{
  uint64_t events = 0;     // learned
  double unlabelled = 0.;  // the weight of those without a label
};

// Writes, or reads and verifies, the state and the seal. `below` is the learner under the reduction.
void save_load_state(model_state& state, VW::LEARNER::learner& below, VW::io_buf& io, bool read, bool text);
}  // namespace vw_fastcb

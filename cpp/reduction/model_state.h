// What the reduction adds to a VW model file: how many events were learned or had no label, a note of those who made
// it, the second-order oracle, the loss so far, and a seal over all this and everything the learners below it write, so
// that a truncated or foreign file is an error and never a silent start.
#pragma once

#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vw_fastcb
{
struct event_counts
{
  uint64_t events = 0;     // learned
  double unlabelled = 0.;  // the weight of those without a label
};

// By which arithmetic a new model learns and predicts, where it has changed. A model goes on under its own.
//   0  until version 0.3
//   1  With --fastcb_oracle newton, features that an example has twice count as their sum outside the block, too. With
//      --fastcb_gamma epochs, the regret counts all weights, and no action is taken to be surer than its events allow.
constexpr uint64_t ARITHMETIC = 1;

struct model_state
{
  event_counts counts;
  std::string note;               // what the package that made the model wants to find again
  std::string oracle;             // what the second-order oracle knows; empty with VW's own regressor
  std::optional<double> loss;     // of all learned events, where gamma depends on it
  uint64_t arithmetic = 0;        // under which the model was begun
  uint64_t weights_in_table = 0;  // of the oracle, in VW's table; since arithmetic 1
};

// Writes, or reads and verifies, the state and the seal. `below` is the learner under the reduction.
void save_load_state(model_state& state, VW::LEARNER::learner& below, VW::io_buf& io, bool read, bool text);
}  // namespace vw_fastcb

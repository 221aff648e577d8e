// What the label of a logged event may say. VW's parsers and learners accept many bad labels, or silently change them.
// Here each is refused with its value.
#pragma once

#include "cost_range.h"

#include "vw/core/cb.h"
#include "vw/core/label_parser.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>

namespace vw_fastcb
{
// Refuses a logged cost that is outside the range or not finite, a probability outside (0,1], a bad weight.
void check_observation(const VW::cb_class& observed, float weight, const cost_range& range);

constexpr size_t NO_ACTION = SIZE_MAX;

// The position of the action whose cost was observed; NO_ACTION if the event only asks for a prediction. `lines` are
// the actions. A line of shared features may precede them and is not counted.
size_t observed_action(const VW::multi_ex& lines, const cost_range& range);

// The same for an event of fixed actions, whose label names the action (from 1 to count).
size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range);

// VW's text parser turns a cost `nan` into 0 and clips probabilities to [0,1]. The parser that this returns refuses
// what is not a number and keeps everything else as written, so that the checks above see it. It also marks nothing as
// a test example but what a holdout set holds out: VW marks every line without a label, and a label may come later, or
// on another line. Labels that FastCB does not use are left to VW.
VW::label_parser strict_label_parser(const VW::label_parser& stock, bool fixed_actions);
}  // namespace vw_fastcb

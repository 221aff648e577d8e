// What the label of a logged event may say. VW's parsers and learners let many bad labels pass, or alter them in
// silence; here each is refused by name.
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

// The position of the action whose cost was observed, NO_ACTION where the event only asks for a prediction. `lines` are
// the actions, with or without the line of shared features before them, which is not counted.
size_t observed_action(const VW::multi_ex& lines, const cost_range& range);

// The same for an event of fixed actions, whose label names the action (from 1 to count).
size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range);

// VW's text parser turns a cost `nan` into 0 and forces probabilities into [0,1]. The parser this gives refuses what is
// not a number and keeps the others as written, so that the checks above see them. It also marks as test examples what
// a holdout set holds out and nothing else: VW marks every line without a label, and a label may come later, or on
// another line. Labels other than those of contextual bandits, conditional ones and slates are left to VW.
VW::label_parser strict_label_parser(const VW::label_parser& stock, bool fixed_actions);
}  // namespace vw_fastcb

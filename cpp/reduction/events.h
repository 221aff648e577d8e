// What the reduction accepts as a logged event. VW's parsers and learners let many bad labels pass or alter them in
// silence; here each is refused by name before anything is learned.
#pragma once

#include "vw/core/cb.h"
#include "vw/core/label_parser.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>

namespace vw_fastcb
{
// The declared range of costs, and the map from it to [0,1].
class cost_range
{
public:
  cost_range(double lowest, double highest) : _lowest(lowest), _highest(highest) {}
  bool contains(float cost) const { return cost >= _lowest && cost <= _highest; }  // false for NaN
  float to_unit(float cost) const { return static_cast<float>((cost - _lowest) / (_highest - _lowest)); }
  double lowest() const { return _lowest; }
  double highest() const { return _highest; }

private:
  double _lowest;
  double _highest;
};

// Throws where a logged cost is outside the range or not finite, a probability outside (0,1], a weight negative.
void check_observation(const VW::cb_class& observed, float weight, const cost_range& range);

constexpr size_t NO_ACTION = SIZE_MAX;

// The position of the action whose cost was observed, NO_ACTION where the event only asks for a prediction.
// Throws where the event is bad: a cost outside the range or not finite, a probability outside (0,1], two labels.
size_t observed_action(const VW::multi_ex& actions, const cost_range& range);

// The same for an event of fixed actions, whose label names the action (from 1 to count).
size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range);

// Throws where a feature is not finite.
void check_features(const VW::example& ec);

// VW's text parser turns a cost `nan` into 0 and forces probabilities into [0,1]. The parser this gives refuses what is
// not a number and keeps the others as written, so that the checks above see them. It also marks as test examples what
// a holdout set holds out and nothing else: VW marks every line without a label, and a label may come later, or on
// another line. Labels other than those of contextual bandits, conditional ones and slates are left to VW.
VW::label_parser strict_label_parser(const VW::label_parser& stock, bool fixed_actions);

// Whether a parser is one of these, which tells code that only has the parser that FastCB is in use.
bool is_strict(const VW::label_parser& parser);
}  // namespace vw_fastcb

// What a workspace accepts as a good event.
#pragma once

#include "cost_range.h"

#include "vw/core/label_type.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>

namespace vw_fastcb
{
class event_rules
{
public:
  // `labels` is the label type of the events as the user gives them; `fixed_actions` is the K of --cb_explore K, or 0.
  event_rules(VW::label_type_t labels, uint32_t fixed_actions, cost_range range)
      : _labels(labels)
      , _fixed_actions(fixed_actions)
      , _range(range)
  {
  }

  // Both refuse a bad event: its labels, the order of its lines, its features.
  void check(const VW::multi_ex& lines) const;
  void check(const VW::example& line) const;

  VW::label_type_t labels() const { return _labels; }
  bool fixed() const { return _fixed_actions > 0; }

private:
  VW::label_type_t _labels;
  uint32_t _fixed_actions;
  cost_range _range;
};
}  // namespace vw_fastcb

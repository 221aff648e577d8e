// What a workspace accepts as a good event.
#pragma once

#include "classes.h"
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
  // `classes` is for --cbify.
  // Where the regressor multiplies features as VW does, `multiplies` is its workspace; else null.
  event_rules(VW::label_type_t labels, uint32_t fixed_actions, cost_range range, class_rules classes,
      const VW::workspace* multiplies)
      : _labels(labels)
      , _fixed_actions(fixed_actions)
      , _range(range)
      , _classes(classes)
      , _multiplies(multiplies)
  {
  }

  // Both refuse a bad event: its labels, the order of its lines, its features.
  void check(const VW::multi_ex& lines, bool will_learn) const;
  void check(const VW::example& line, bool will_learn) const;

  VW::label_type_t labels() const { return _labels; }
  bool fixed() const { return _fixed_actions > 0; }

private:
  VW::label_type_t _labels;
  uint32_t _fixed_actions;
  cost_range _range;
  class_rules _classes;
  const VW::workspace* _multiplies;
};
}  // namespace vw_fastcb

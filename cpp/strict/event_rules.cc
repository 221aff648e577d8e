#include "event_rules.h"

#include "features.h"
#include "labels.h"
#include "slots.h"

namespace vw_fastcb
{
void event_rules::check(const VW::multi_ex& lines) const
{
  switch (_labels)
  {
    case VW::label_type_t::CB:
      observed_action(lines, _range);
      break;
    case VW::label_type_t::CCB:
      check_conditional_event(lines, _range);
      break;
    case VW::label_type_t::SLATES:
      check_slates_event(lines, _range);
      break;
    default:  // cbify makes its own events
      break;
  }
  check_features(lines);
}

void event_rules::check(const VW::example& line) const
{
  if (_labels == VW::label_type_t::CB) { observed_action(line, _fixed_actions, _range); }
  check_features(line);
}
}  // namespace vw_fastcb

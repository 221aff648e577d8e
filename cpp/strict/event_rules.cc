#include "event_rules.h"

#include "classes.h"
#include "features.h"
#include "labels.h"
#include "products.h"
#include "slots.h"

#include "vw/core/example.h"

namespace vw_fastcb
{
void event_rules::check(const VW::multi_ex& lines, bool will_learn) const
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
    case VW::label_type_t::CS:
      check_costs(lines, will_learn, _classes, _range);
      break;
    default:
      break;
  }
  const float largest_square = check_features(lines);
  if (_multiplies != nullptr)
  {
    check_products(*_multiplies, lines, largest_square, /*has_slots=*/_labels != VW::label_type_t::CB);
  }
}

void event_rules::check(const VW::example& line, bool /* will_learn */) const
{
  switch (_labels)
  {
    case VW::label_type_t::CB:
      observed_action(line, _fixed_actions, _range);
      break;
    case VW::label_type_t::MULTICLASS:
      check_class(line.l.multi, _classes);
      break;
    case VW::label_type_t::CS:
      check_costs(line.l.cs, _classes, _range);
      break;
    default:
      break;
  }
  const float largest_square = check_features(line);
  if (_multiplies != nullptr) { check_products(*_multiplies, line, largest_square); }
}
}  // namespace vw_fastcb

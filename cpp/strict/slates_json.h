// VW reads slates from JSON without checking that a value is there and has the right type; it reads a wrong one as
// whatever is in memory. Here it is refused by name.
#pragma once

#include "json_lines.h"

namespace vw_fastcb
{
// `event` is well-formed JSON and ends with a zero.
json_facts check_slates_json(const char* event, bool decision_service);
}  // namespace vw_fastcb

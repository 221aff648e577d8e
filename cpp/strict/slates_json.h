// VW reads slates from JSON without checking that a value is there and has the right type; it reads a wrong one as
// whatever is in memory, and it ignores labels in most places. Here such events are refused by name.
#pragma once

#include "json_lines.h"

#include <cstddef>

namespace vw_fastcb
{
json_facts check_slates_json(const char* event, size_t length, bool decision_service);
}  // namespace vw_fastcb

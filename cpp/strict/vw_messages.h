// What VW says when it refuses an event, flags or a model, with what to do about it.
#pragma once

#include <exception>
#include <string>

namespace vw_fastcb
{
// The text of a bad_event, from what a reader threw: ours, or one of VW's parsers.
std::string as_problem(const std::exception& thrown);

// A message about flags or a model, explained where VW's own words do not help.
std::string explained(std::string message);
}  // namespace vw_fastcb

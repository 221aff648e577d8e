// How an event is refused: one exception, and a safe way to quote the user in its message.
#pragma once

#include "vw/common/string_view.h"
#include "vw/common/vw_exception.h"

#include <string>

namespace vw_fastcb
{
// Thrown before anything has been predicted, learned or counted.
class bad_event : public VW::vw_exception
{
public:
  explicit bad_event(const std::string& message) : VW::vw_exception("input", 0, message) {}
};

// Throws a bad_event that says what the problem is and what to do about it.
[[noreturn]] void refuse(const std::string& problem);

// The start of what the user wrote, in quotes: on one line, and never cut inside a UTF-8 character.
std::string quoted(VW::string_view text, size_t most_shown = 60);
}  // namespace vw_fastcb

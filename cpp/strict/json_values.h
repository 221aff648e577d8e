// Numbers and lists of numbers in JSON that a label or a list of actions may be made of; others are refused.
#pragma once

#include "bad_event.h"
#include "json_cursor.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <strings.h>

namespace vw_fastcb
{
inline bool is_but_for_case(VW::string_view key, VW::string_view name)
{
  return key.size() == name.size() && strncasecmp(key.data(), name.data(), key.size()) == 0;
}

[[noreturn]] inline void refuse_twice(VW::string_view key)
{
  refuse(fmt::format("{} is given twice. Give it once.", std::string(key)));
}

inline void once(bool& seen, VW::string_view key)
{
  if (seen) { refuse_twice(key); }
  seen = true;
}

// The number of an action, from its text. It may be written as 1.0 or 1e0.
uint32_t whole_number(VW::string_view text, VW::string_view key);

// The same of an array, or of a single number, which VW reads as an array of one; null is an empty one.
std::vector<uint32_t> whole_numbers(json_cursor& at, VW::string_view key);

struct list_of_probabilities
{
  size_t size = 0;
  double first = 0.;
};

list_of_probabilities probabilities(json_cursor& at, VW::string_view key);

// The value of pdrop, the share of events that were not logged.
void check_drop_probability(json_cursor& at);
}  // namespace vw_fastcb

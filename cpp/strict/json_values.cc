#include "json_values.h"

#include "bad_event.h"
#include "numbers.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace vw_fastcb
{
namespace
{
template <typename OnNumber>
void for_each_number(json_cursor& at, VW::string_view key, OnNumber on_number)
{
  const auto read_number = [&]
  {
    if (!at.at_number())
    {
      refuse(fmt::format("{} contains something that is not a number. Give an array of numbers.", std::string(key)));
    }
    on_number(at.number());
  };
  if (at.peek() == '[') { at.elements(read_number); }
  else if (at.peek() == 'n') { at.word(); }
  else { read_number(); }
}

// A whole number that is sure to fit, as nearly all are; there may be hundreds in an event.
std::optional<uint32_t> few_digits(VW::string_view text)
{
  constexpr size_t MOST_DIGITS = 9;
  if (text.size() > MOST_DIGITS) { return std::nullopt; }
  uint32_t whole = 0;
  for (const char c : text)
  {
    if (c < '0' || c > '9') { return std::nullopt; }
    whole = 10 * whole + static_cast<uint32_t>(c - '0');
  }
  return whole;
}

// Apart, so that what nearly every number needs is compiled into the loop over them.
uint32_t unusual_whole_number(VW::string_view text, VW::string_view key)
{
  const double value = number_in<double>(text).value_or(-1.);
  constexpr uint32_t TOO_LARGE = std::numeric_limits<uint32_t>::max();  // VW's mark of "none"
  if (value >= 0. && value < TOO_LARGE && value == std::floor(value)) { return static_cast<uint32_t>(value); }
  refuse(fmt::format("action {} in {} is unknown. Actions are whole numbers.", std::string(text), std::string(key)));
}

// Whether anything that starts like this is in [0, 1].
bool is_decimal_below_one(VW::string_view text)
{
  return text.size() > 1 && text[0] == '0' && text[1] == '.' &&
         std::none_of(text.begin(), text.end(), [](char c) { return c == 'e' || c == 'E'; });
}
}  // namespace

uint32_t whole_number(VW::string_view text, VW::string_view key)
{
  const auto whole = few_digits(text);
  return whole ? *whole : unusual_whole_number(text, key);
}

std::vector<uint32_t> whole_numbers(json_cursor& at, VW::string_view key)
{
  std::vector<uint32_t> numbers;
  numbers.reserve(64);  // enough for most events
  for_each_number(at, key, [&](VW::string_view text) { numbers.push_back(whole_number(text, key)); });
  return numbers;
}

list_of_probabilities probabilities(json_cursor& at, VW::string_view key)
{
  list_of_probabilities list;
  for_each_number(at, key,
      [&](VW::string_view text)
      {
        // Only the first is used.
        const double value = list.size > 0 && is_decimal_below_one(text) ? 0. : number_in(text).value_or(NAN);
        if (!(value >= 0. && value <= 1.))
        {
          refuse(fmt::format("probability {} in {} is outside [0, 1].", std::string(text), std::string(key)));
        }
        if (list.size++ == 0) { list.first = value; }
      });
  return list;
}

void check_drop_probability(json_cursor& at)
{
  if (!at.at_number())
  {
    at.value();
    return;
  }
  const auto text = at.number();
  const float value = number_in(text).value_or(NAN);
  if (!(value >= 0.f && value < 1.f))
  {
    refuse(fmt::format("its pdrop is {}. Give a number in [0, 1).", std::string(text)));
  }
}
}  // namespace vw_fastcb

// Numbers in text by C's own reader, for C++ libraries whose std::from_chars reads none with a decimal point.
#pragma once

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace vw_fastcb
{
// All of `text` as a number, or nothing if it is not one: what std::from_chars takes for a number, which is less than
// strtod does. A number that is too large for the type is infinite, and one that is too small is 0.
template <typename Number>
std::optional<Number> number_of_c(std::string_view text)
{
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const auto begins_a_number = [](char c)
  { return c == '-' || c == '.' || (c >= '0' && c <= '9') || c == 'i' || c == 'I' || c == 'n' || c == 'N'; };
  if (text.empty() || !begins_a_number(text[0])) { return std::nullopt; }
  const auto after_zero = text.substr(text[0] == '-' ? 1 : 0, 2);
  if (after_zero == "0x" || after_zero == "0X") { return std::nullopt; }  // C reads hexadecimals as well

  // C wants a zero behind the text. A text is rarely long enough to need memory for that.
  std::array<char, 64> few{};
  std::string many;
  const char* begin = few.data();
  if (text.size() < few.size()) { std::copy(text.begin(), text.end(), few.begin()); }
  else
  {
    many = text;
    begin = many.c_str();
  }
  char* end = nullptr;
  Number value = 0;
  if constexpr (std::is_same_v<Number, float>) { value = strtof_l(begin, &end, plain); }
  else { value = strtod_l(begin, &end, plain); }
  if (end != begin + text.size()) { return std::nullopt; }
  return value;
}
}  // namespace vw_fastcb

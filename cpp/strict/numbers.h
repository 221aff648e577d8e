// Numbers in text, whatever decimal point the locale of the process uses.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

// gcc 10 and the C++ libraries of clang up to 19 read whole numbers with from_chars, but no others.
#if !defined(__cpp_lib_to_chars)
#define VW_FASTCB_NUMBERS_OF_C
#endif
#if defined(VW_FASTCB_NUMBERS_OF_C)
#include "numbers_of_c.h"
#endif

namespace vw_fastcb
{
// The power of ten of a number's first digit that is not 0: 2 of 345, -3 of 0.00678. `text` is a number, and not 0.
inline int64_t power_of_ten(std::string_view text)
{
  const auto e = std::min(text.find_first_of("eE"), text.size());
  const auto mantissa = text.substr(0, e);
  const auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const int64_t of_mantissa = point - first - (first < point ? 1 : 0);
  auto digits = text.substr(std::min(e + 1, text.size()));
  if (!digits.empty() && digits[0] == '+') { digits.remove_prefix(1); }
  constexpr int64_t LARGEST = int64_t{1} << 62;  // to which any mantissa can be added
  int64_t exponent = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (result.ec == std::errc::result_out_of_range) { exponent = digits[0] == '-' ? -LARGEST : LARGEST; }
  return of_mantissa + std::clamp(exponent, -LARGEST, LARGEST);
}

// All of `text` as a number, or nothing if it is not one. A number that is too large for the type is infinite, and one
// that is too small is 0. Everything here that reads a number from text reads it by this.
template <typename Number = float>
std::optional<Number> number_in(std::string_view text)
{
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') { text.remove_prefix(1); }
#if defined(VW_FASTCB_NUMBERS_OF_C)
  return number_of_c<Number>(text);
#else
  const char* const end = text.data() + text.size();
  Number value = 0;
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ptr != end || text.empty()) { return std::nullopt; }
  if (result.ec == std::errc()) { return value; }
  if (result.ec != std::errc::result_out_of_range) { return std::nullopt; }
  // The value is left as it was, and what does not fit is far from 1.
  const Number size = power_of_ten(text) > 0 ? std::numeric_limits<Number>::infinity() : Number{0};
  return text[0] == '-' ? -size : size;
#endif
}
}  // namespace vw_fastcb

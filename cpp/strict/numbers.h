// Numbers in text, whatever decimal point the locale of the process uses.
#pragma once

#include "vw/common/string_view.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include <locale.h>

namespace vw_fastcb
{
// All of `text` as a number in single precision, or nothing if it is not one. A number that is too large is infinite.
inline std::optional<float> number_in(VW::string_view text)
{
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') { text.remove_prefix(1); }
  const char* const end = text.data() + text.size();
  float value = 0.f;
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ptr != end || text.empty()) { return std::nullopt; }
  if (result.ec == std::errc()) { return value; }
  if (result.ec != std::errc::result_out_of_range) { return std::nullopt; }
  const bool tiny = text.find("e-") != VW::string_view::npos || text.find("E-") != VW::string_view::npos ||
                    text.find_first_of("123456789") > text.find('.');
  const float size = tiny ? 0.f : std::numeric_limits<float>::infinity();
  return text[0] == '-' ? -size : size;
}

// While this lives, the thread reads numbers as in the "C" locale. VW's own parsers fall back on strtof, which stops at
// a decimal point if the locale of the process has a comma.
class c_locale
{
public:
  c_locale() : _before(uselocale(plain())) {}
  ~c_locale() { uselocale(_before); }
  c_locale(const c_locale&) = delete;
  c_locale& operator=(const c_locale&) = delete;

private:
  static locale_t plain()
  {
    static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
    return made;
  }
  locale_t _before;
};
}  // namespace vw_fastcb

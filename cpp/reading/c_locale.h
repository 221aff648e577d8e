// Numbers as VW's own parsers read them, whatever the locale of the process.
#pragma once

#include <locale.h>

namespace vw_fastcb
{
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

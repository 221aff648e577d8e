// Opens the reader of numbers in cpp/strict to tests/python/test_numbers.py, and C's own beside it.
#include "strict/numbers.h"

#include "reading/c_locale.h"

#include <cstdlib>
#include <cstring>

namespace
{
template <typename Number>
void read_all(const char* texts, size_t count, Number (*stock)(const char*, char**), Number* values, Number* expected,
    unsigned char* are_numbers)
{
  const vw_fastcb::c_locale locale;
  for (size_t i = 0; i < count; ++i)
  {
    const auto length = std::strlen(texts);
    const auto value = vw_fastcb::number_in<Number>({texts, length});
    are_numbers[i] = value ? 1 : 0;
    values[i] = value.value_or(0);
    expected[i] = stock(texts, nullptr);
    texts += length + 1;
  }
}
}  // namespace

// `texts` are `count` strings one after another, each with its zero.
extern "C"
{
  void read_floats(const char* texts, size_t count, float* values, float* expected, unsigned char* are_numbers)
  {
    read_all<float>(texts, count, std::strtof, values, expected, are_numbers);
  }

  void read_doubles(const char* texts, size_t count, double* values, double* expected, unsigned char* are_numbers)
  {
    read_all<double>(texts, count, std::strtod, values, expected, are_numbers);
  }
}

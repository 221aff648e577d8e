#include "text_values.h"

#include "bad_event.h"
#include "numbers.h"

#include "vw/core/parse_primitives.h"

#include "fmt/format.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace vw_fastcb
{
namespace
{
bool ends_a_value(VW::string_view text, size_t at)
{
  return at >= text.size() || text[at] == ' ' || text[at] == '\t' || text[at] == '|' || text[at] == '\r';
}

bool is_sign_or_point(char c) { return c == '-' || c == '+' || c == '.'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// After a colon, VW reads nothing, a lone sign, a lone point or a lone exponent as 0, and then drops the feature.
void check_value_at(VW::string_view features, size_t at)
{
  const auto skip = [features](size_t from, bool (*skipped)(char))
  {
    while (from < features.size() && skipped(features[from])) { ++from; }
    return from;
  };
  const size_t start = skip(at, is_sign_or_point);
  if (ends_a_value(features, start))
  {
    refuse(fmt::format("a colon in {} is not followed by a value. Give one, or leave the colon out.",
        quoted(features.substr(at < 20 ? 0 : at - 20))));
  }
  if (features[start] != 'e' && features[start] != 'E') { return; }
  const size_t end = skip(skip(start + 1, is_sign_or_point), is_digit);
  if (!ends_a_value(features, end)) { return; }
  const auto value = std::string(features.substr(at, end - at));
  refuse(
      fmt::format("VW reads the value ':{}' as the number 0 and drops it. For a word, write '={}'; for a number, put a "
                  "digit before the e.",
          value, value));
}

// VW keeps the exponent of a number in eight bits: 1e256 would be read as 1.
void check_exponent_at(VW::string_view features, size_t e)
{
  const auto of_number = [](char c) { return is_digit(c) || is_sign_or_point(c); };
  size_t first = e;
  while (first > 0 && of_number(features[first - 1])) { --first; }
  size_t last = e + 1;
  while (last < features.size() && of_number(features[last])) { ++last; }
  const bool is_value = first > 0 && first < e && features[first - 1] == ':' && ends_a_value(features, last);
  if (!is_value) { return; }
  int exponent = 0;
  auto digits = features.substr(e + 1, last - e - 1);
  if (!digits.empty() && digits[0] == '+') { digits.remove_prefix(1); }
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  constexpr int LARGEST = 80;  // with the decimals, of which VW counts up to 35
  const auto text = features.substr(first, last - first);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || std::abs(exponent) > LARGEST)
  {
    refuse(
        fmt::format("the value {} has an exponent that VW cannot read. Give a number that fits single precision, or 0.",
            quoted(text)));
  }
  const auto value = number_in(text);
  const auto problem = value ? misreading_of(text, *value) : "";
  if (!problem.empty()) { refuse(fmt::format("the value {}: {}", quoted(text), problem)); }
}

// A colon without a digit after it, and an e after a digit, need a closer look.
void check_value_near(VW::string_view features, size_t i)
{
  const char c = features[i];
  const char before = features[i - 1];
  if (c == ':') { check_value_at(features, i + 1); }
  else if ((c == 'e' || c == 'E') && (is_digit(before) || before == '.')) { check_exponent_at(features, i); }
}

#ifdef __AVX2__
// Which of the 32 characters from `at` on need one. Also reads the characters just before and after them.
uint32_t suspects(const char* at)
{
  const auto load = [](const char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); };
  const auto between = [](__m256i bytes, char below, char above)
  {
    return _mm256_and_si256(
        _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(below)), _mm256_cmpgt_epi8(_mm256_set1_epi8(above), bytes));
  };
  const auto here = load(at);
  const auto colon = _mm256_cmpeq_epi8(here, _mm256_set1_epi8(':'));
  const auto e = _mm256_cmpeq_epi8(_mm256_or_si256(here, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('e'));
  const auto no_digit_after = _mm256_andnot_si256(between(load(at + 1), '0' - 1, '9' + 1), colon);
  const auto after_a_digit = _mm256_and_si256(between(load(at - 1), '.' - 1, '9' + 1), e);
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(no_digit_after, after_a_digit)));
}
#endif
}  // namespace

std::string misreading_of(VW::string_view text, float value)
{
  constexpr float TOLERANCE = 1e-4f;  // VW rounds after each digit
  constexpr float NOTHING = 1e-30f;
  if (!std::isfinite(value)) { return ""; }
  size_t end = 0;
  const float read = VW::details::parse_float(text.data(), end, text.data() + text.size());
  if (std::fabs(read - value) <= TOLERANCE * std::fabs(value) + NOTHING) { return ""; }
  return fmt::format("VW would read {} as {}. Write it with fewer digits: {}.", std::string(text), read, value);
}

void check_text_values(VW::string_view features)
{
  size_t i = 1;
#ifdef __AVX2__
  constexpr size_t BLOCK = 32;
  const auto check_block = [features](size_t from)
  {
    for (auto marks = suspects(features.data() + from); marks != 0; marks &= marks - 1)
    {
      check_value_near(features, from + static_cast<size_t>(__builtin_ctz(marks)));
    }
  };
  if (features.size() > BLOCK + 1)
  {
    const size_t last = features.size() - 1 - BLOCK;  // the last block overlaps the one before
    for (; i < last; i += BLOCK) { check_block(i); }
    check_block(last);
    i = features.size() - 1;  // a block cannot look past the last character
  }
#endif
  for (; i < features.size(); ++i) { check_value_near(features, i); }
}
}  // namespace vw_fastcb

#include "text_lines.h"

#include "bad_event.h"
#include "numbers.h"
#include "text_values.h"

#include "vw/common/text_utils.h"

#include "fmt/format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <strings.h>

namespace vw_fastcb
{
namespace
{
constexpr auto NONE = VW::string_view::npos;

bool equal_but_for_case(VW::string_view word, VW::string_view other)
{
  return word.size() == other.size() && strncasecmp(word.data(), other.data(), word.size()) == 0;
}

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words that start a label. One that touches the bar was meant as a label, not as a tag. So was one with a no-break
// space, a control character or a colon between it and the bar.
bool is_keyword(VW::string_view word)
{
  while (!word.empty() && !is_letter_or_digit(word.back())) { word.remove_suffix(1); }
  while (!word.empty() && !is_letter_or_digit(word.front())) { word.remove_prefix(1); }
  for (const char* keyword : {"shared", "ccb", "slates", "slot", "action"})
  {
    if (equal_but_for_case(word, keyword)) { return true; }
  }
  return false;
}

// The number at the start of a word, whatever follows it: a no-break space (U+00A0), a semicolon.
std::optional<float> leading_number(VW::string_view word)
{
  return number_in(word.substr(0, std::min(word.find_first_not_of("0123456789.+-eE"), word.size())));
}

bool is_number(VW::string_view word) { return number_in(word) || leading_number(word); }

// A number that is no part of a time of day such as 12:30:15.
bool is_cost(VW::string_view word)
{
  const bool has_sign = !word.empty() && (word[0] == '-' || word[0] == '+');
  const bool is_decimal = has_sign || word.find('.') != NONE || !leading_number(word);  // the last is nan or inf
  return is_number(word) && (is_decimal || word == "0" || word == "1");
}

bool is_probability(VW::string_view word)
{
  const auto value = leading_number(word);
  return !value || (*value >= 0.f && *value <= 1.f) || word.back() == '%';  // the first is nan or inf
}

// action:cost:probability, or the start of it. With features for actions, VW accepts any word for the action.
bool looks_like_a_label(VW::string_view word)
{
  std::vector<VW::string_view> tokens;
  VW::tokenize(':', word, tokens, /*allow_empty=*/true);
  if (tokens.size() == 2) { return number_in(tokens[0]) && is_cost(tokens[1]); }
  if (tokens.size() != 3 || !is_number(tokens[1]) || !is_number(tokens[2])) { return false; }
  return is_cost(tokens[1]) || (number_in(tokens[0]) && is_probability(tokens[2]));
}

// The labels of slots can be any mix of numbers.
bool looks_like_a_label(VW::string_view word, VW::label_type_t labels)
{
  if (looks_like_a_label(word)) { return true; }
  if (labels == VW::label_type_t::CB) { return false; }
  const auto end = word.find_first_not_of("0123456789.:,+-eE");
  return end == NONE || (end > 0 && !is_letter_or_digit(word[end]));
}

// VW runs lines such as `save_model.vw|` as a command.
bool is_command(VW::string_view tag) { return tag.substr(0, 4) == "save"; }

// Whether the words before the tag already say what was observed.
bool has_outcome(VW::string_view words, VW::label_type_t labels)
{
  const auto count = [words] { return std::count(words.begin(), words.end(), ' '); };
  return labels == VW::label_type_t::CB ? words.find_first_not_of(' ') != NONE : count() >= 3;
}
}  // namespace

void check_text_line(VW::string_view line, VW::label_type_t labels)
{
  if (line.find('\r') != NONE)
  {
    refuse(
        "there is a carriage return inside the line, and VW ignores everything after it. Remove it; if it was meant to "
        "end the line, end lines with a newline.");
  }
  const auto bar = line.find('|');
  if (bar != NONE) { check_text_values(line.substr(bar)); }
  const bool strict =
      labels == VW::label_type_t::CB || labels == VW::label_type_t::CCB || labels == VW::label_type_t::SLATES;
  if (!strict || line.empty() || line[0] == '|') { return; }

  const auto head = line.substr(0, bar);
  const auto last_space = head.rfind(' ');
  const auto last = last_space == NONE ? head : head.substr(last_space + 1);
  if (bar == NONE)
  {
    if (is_command(last)) { return; }
    if (line.find_first_not_of(" \t") == NONE)
    {
      refuse("there is a line of spaces only, which VW reads as an action. Remove it, or its spaces to end the event.");
    }
    if (line[0] == '{') { refuse("the line looks like JSON. Add --json or --dsjson to read it."); }
    refuse(fmt::format("the line {} has no bar. Features come after one: write '{} |'.", quoted(line),
        line.size() < 20 ? std::string(line) : "label"));
  }
  const auto tab = head.find('\t');
  if (tab != NONE && head.find_first_not_of(" \t") < tab)
  {
    refuse(fmt::format(
        "there is a tab before the bar in {}, and VW ignores everything to its left. Use spaces.", quoted(line)));
  }
  if (last.empty() || last[0] == '\'') { return; }
  const auto before = head.substr(0, head.size() - last.size());
  // After a label, 12:30:00 is a tag; with a decimal point, it is a second label.
  const bool may_be_tag = has_outcome(before, labels) && last.find('.') == NONE;
  if (is_keyword(last) || (looks_like_a_label(last, labels) && !may_be_tag))
  {
    refuse(
        fmt::format("the label {} has no space between it and the bar, so VW takes it for a tag. Write \"{} |\", "
                    "or \"'{}|\" if it is a tag.",
            quoted(last), std::string(last), std::string(last)));
  }
}
}  // namespace vw_fastcb

#include "vw_messages.h"

#include "bad_event.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace vw_fastcb
{
namespace
{
// What VW's parsers throw without saying what to do.
struct translation
{
  const char* thrown;
  const char* problem;
};
constexpr translation KNOWN[] = {
    {"read as NaN", "a feature or namespace has the value nan. Give a number, or leave the feature out."},
    {"Tried to get value as number",
        "VW reads the whole numbers from 0 to 4294967295 only as features of slates. Write others with a decimal "
        "point, -2.0 for -2."},
    {"Null fields not supported", "a feature is null, which VW does not read in slates. Leave it out."},
    {"NOT HANDLED", "an array of features contains something else than numbers and objects. Give one of these."},
};

// From "JSON parser error at PLACE: REASON. Handler: SURPRISE State: NAME"; the surprise is often missing.
std::string problem_with_json(const std::string& text)
{
  constexpr const char* BEFORE_PLACE = "JSON parser error at ";
  constexpr const char* BEFORE_SURPRISE = ". Handler: ";
  const auto after_place = text.find(": ");
  const auto after_reason = text.find(BEFORE_SURPRISE);
  const auto end = text.rfind("State: ");
  if (text.rfind(BEFORE_PLACE, 0) != 0 || after_reason == std::string::npos || end == std::string::npos)
  {
    return text;
  }
  const auto from = std::strlen(BEFORE_PLACE);
  const auto place = text.substr(from, after_place - from);
  auto reason = text.substr(after_place + 2, after_reason - after_place - 2);
  const auto surprise = after_reason + std::strlen(BEFORE_SURPRISE);
  if (end > surprise) { reason = text.substr(surprise, end - surprise); }
  while (!reason.empty() && (reason.back() == ' ' || reason.back() == '.')) { reason.pop_back(); }
  return "VW cannot read its JSON after character " + place + ": " + reason + ". Correct the value there";
}

// VW's arrays of features throw an exception of VW's own where there is no more memory.
bool is_lack_of_memory(const std::exception& thrown)
{
  return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
         std::strstr(thrown.what(), "out of memory?") != nullptr;
}

constexpr const char* BEFORE_REASON = "model load failed. Error Details: ";
constexpr const char* AFTER_REASON = ", model files = ";
constexpr const char* TWO_VALUES = "Disagreeing option values for '";
}  // namespace

std::string as_problem(const std::exception& thrown)
{
  std::string text = thrown.what();
  const bool is_ours = dynamic_cast<const bad_event*>(&thrown) != nullptr;  // it may quote anything
  if (!is_ours && is_lack_of_memory(thrown)) { throw std::bad_alloc(); }
  if (is_ours) { return text; }
  // VW's text parser appends its own count of events, and the whole line.
  text.resize(std::min(text.size(), text.find("in Example #")));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '.')) { text.pop_back(); }
  for (const auto& known : KNOWN)
  {
    if (text.find(known.thrown) != std::string::npos) { return std::string("bad event: ") + known.problem; }
  }
  const auto malformed = text.find("expected after : ");
  if (malformed != std::string::npos)
  {
    return "bad event: the line cannot be read after " + text.substr(malformed + std::strlen("expected after : ")) +
           ". Expected a space, a bar, or the end of the line there. A value is one number after one colon.";
  }
  return "bad event: " + problem_with_json(text) + ".";
}

std::string explained(std::string message)
{
  const auto after = message.rfind(AFTER_REASON);
  if (message.rfind(BEFORE_REASON, 0) == 0 && after != std::string::npos)
  {
    const auto from = std::strlen(BEFORE_REASON);
    message = "the model could not be loaded: " + message.substr(from, after - from);
  }
  if (message.find(TWO_VALUES) != std::string::npos)
  {
    message +=
        ". The flag was given twice, or the model that -i names has the second value, which cannot be changed. Leave "
        "the flag out.";
  }
  return message;
}
}  // namespace vw_fastcb

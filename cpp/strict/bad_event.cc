#include "bad_event.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace vw_fastcb
{
namespace
{
bool continues_a_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }
}  // namespace

void refuse(const std::string& problem) { throw bad_event("bad event: " + problem); }

std::string as_problem(const std::exception& thrown)
{
  std::string text = thrown.what();
  if (dynamic_cast<const bad_event*>(&thrown) != nullptr) { return text; }
  // VW's text parser appends its own count of events, and the whole line.
  text.resize(std::min(text.size(), text.find("in Example #")));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '.')) { text.pop_back(); }
  if (text.find("read as NaN") != std::string::npos)
  {
    return "bad event: a feature or namespace has the value nan. Give a number, or leave the feature out.";
  }
  const auto malformed = text.find("expected after : ");
  if (malformed != std::string::npos)
  {
    return "bad event: the line cannot be read after " + text.substr(malformed + std::strlen("expected after : ")) +
           ". Expected a space, a bar, or the end of the line there. A value is one number after one colon.";
  }
  return "bad event: " + text + ".";
}

std::string quoted(VW::string_view text, size_t most_shown)
{
  size_t length = text.size();
  if (length > most_shown)
  {
    length = most_shown;
    while (length > 0 && continues_a_character(text[length])) { --length; }
  }
  std::string shown = "'";
  for (const char byte : text.substr(0, length))
  {
    const bool control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    shown += control ? ' ' : byte;
  }
  return shown + (length < text.size() ? "...'" : "'");
}
}  // namespace vw_fastcb

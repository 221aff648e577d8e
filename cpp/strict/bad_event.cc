#include "bad_event.h"

#include <cstddef>

namespace vw_fastcb
{
namespace
{
bool continues_a_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }
}  // namespace

void refuse(const std::string& problem) { throw bad_event("bad event: " + problem); }

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

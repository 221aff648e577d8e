#include "vw_messages.h"

#include <cstring>

namespace vw_fastcb
{
namespace
{
constexpr const char* BEFORE_REASON = "model load failed. Error Details: ";
constexpr const char* AFTER_REASON = ", model files = ";
constexpr const char* TWO_VALUES = "Disagreeing option values for '";
}  // namespace

std::string explained(std::string said)
{
  const auto after = said.rfind(AFTER_REASON);
  if (said.rfind(BEFORE_REASON, 0) == 0 && after != std::string::npos)
  {
    const auto from = std::strlen(BEFORE_REASON);
    said = "the model could not be loaded: " + said.substr(from, after - from);
  }
  if (said.find(TWO_VALUES) != std::string::npos)
  {
    said +=
        ". The flag was given twice, or the model that -i names has the second value, which cannot be changed. Leave "
        "the flag out.";
  }
  return said;
}
}  // namespace vw_fastcb

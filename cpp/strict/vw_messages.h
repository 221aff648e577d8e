// What VW says when it refuses flags or a model, with what to do about it.
#pragma once

#include <string>

namespace vw_fastcb
{
std::string explained(std::string said);
}  // namespace vw_fastcb

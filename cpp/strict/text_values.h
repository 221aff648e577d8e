// What feature values may look like in VW's text. VW misreads some of them and drops others.
#pragma once

#include "vw/common/string_view.h"

#include <string>

namespace vw_fastcb
{
// `features` is a line from its first bar on. Every character of a log passes through here, so it checks many at once.
void check_text_values(VW::string_view features);

// What to say where VW would read a number in text as another than its value; empty where it would not.
std::string misreading_of(VW::string_view text, float value);
}  // namespace vw_fastcb

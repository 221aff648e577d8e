// What the values of features may look like in VW's text. VW reads some as other numbers, and drops others.
#pragma once

#include "vw/common/string_view.h"

namespace vw_fastcb
{
// `features` is a line from its first bar on. Every character of a log passes through here: it looks at many at once.
void check_text_values(VW::string_view features);
}  // namespace vw_fastcb

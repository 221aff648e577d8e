// What a line of VW's text may look like before its first bar. VW reads a label that touches the bar as a tag, drops
// everything before a tab and after a carriage return, and reads a line without a bar as an action. Here such lines are
// refused.
#pragma once

#include "vw/common/string_view.h"
#include "vw/core/label_type.h"

namespace vw_fastcb
{
void check_text_line(VW::string_view line, VW::label_type_t labels);
}  // namespace vw_fastcb

// What a line of VW's text may look like before its first bar. VW takes a label for a tag where it touches the bar,
// drops what stands before a tab, and reads a line without a bar as an action: here such lines are refused.
#pragma once

#include "vw/common/string_view.h"
#include "vw/core/label_type.h"

namespace vw_fastcb
{
void check_text_line(VW::string_view line, VW::label_type_t labels);
}  // namespace vw_fastcb

// What feature values may look like in VW's text. VW misreads some of them and drops others.
#pragma once

#include "vw/common/string_view.h"

namespace vw_fastcb
{
// `features` is a line from its first bar on. Every character of a log passes through here, so it checks many at once.
void check_text_values(VW::string_view features);
}  // namespace vw_fastcb

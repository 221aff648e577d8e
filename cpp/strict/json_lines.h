// What an event in JSON may look like. VW's parser crashes on some lines, and truncates, drops or moves labels on
// others. This looks at each line once, before VW does, and refuses those.
#pragma once

#include "vw/core/label_type.h"

#include <cstddef>

namespace vw_fastcb
{
struct json_format
{
  VW::label_type_t labels;
  bool decision_service;  // --dsjson: the event is an entry of a log, with the context under "c"
  bool several_lines;     // actions with features, in "_multi"
};

struct json_facts
{
  bool has_choice = false;  // the log lists the actions or the choice; otherwise VW skips the event
  size_t num_actions = 0;
};

// `line` has `length` characters and a terminating zero.
json_facts check_json_line(const char* line, size_t length, const json_format& format);
}  // namespace vw_fastcb

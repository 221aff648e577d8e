// VW's parser thread, safe to leave by an exception.
#pragma once

#include "vw/core/global_data.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include <exception>

namespace vw_fastcb
{
// Runs VW's parser thread for as long as it lives. Where the learner throws, the parser may be waiting for room in its
// queue, and joining it would wait for ever: so it is told to stop and its queue is emptied first.
class running_parser
{
public:
  explicit running_parser(VW::workspace& all) : _all(all), _exceptions(std::uncaught_exceptions())
  {
    VW::start_parser(_all);
  }
  ~running_parser()
  {
    if (std::uncaught_exceptions() > _exceptions)
    {
      VW::details::set_done(_all);
      auto* parser = _all.parser_runtime.example_parser.get();
      while (auto* example = VW::get_example(parser)) { VW::finish_example(_all, *example); }
    }
    VW::end_parser(_all);
  }
  running_parser(const running_parser&) = delete;
  running_parser& operator=(const running_parser&) = delete;

private:
  VW::workspace& _all;
  int _exceptions;  // in flight when the parser was started
};
}  // namespace vw_fastcb

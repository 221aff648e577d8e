// VW's parser thread, ended safely when an exception is thrown.
#pragma once

#include "reading/event_reader.h"

#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include <exception>
#include <utility>

namespace vw_fastcb
{
// Runs VW's parser thread while it lives. If the learner throws, the parser may be waiting for room in its queue, and
// joining it would wait forever. So it is told to stop and its queue is emptied first.
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

// Learns from the workspace's input. With FastCB, rethrows what the parser thread threw, which stock VW keeps to
// itself.
inline void run_parser(VW::workspace& all)
{
  {
    running_parser parser(all);
    VW::LEARNER::generic_driver(all);
  }
  const auto* reader = event_reader::of(all);
  if (reader == nullptr) { return; }
  auto& failure = all.parser_runtime.example_parser->exc_ptr;
  if (failure) { std::rethrow_exception(std::exchange(failure, nullptr)); }
  reader->report();
}
}  // namespace vw_fastcb

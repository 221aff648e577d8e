// An event as VW parsed it: its lines are examples.
#pragma once

#include "oracle/vw_event.h"

#include "vw/core/multi_ex.h"

namespace vw_fastcb
{
class text_event : public vw_event
{
public:
  using vw_event::vw_event;

  // Actions with features of their own. The features of the line `shared`, which may be null, belong to all of them.
  void start(const VW::example* shared, const VW::multi_ex& actions);

  // Fixed actions: one example.
  void start(VW::example& context, size_t actions);

  const feature_spans& own(size_t line) override;
  float weight(size_t line) const override { return example(line).weight; }
  float initial(size_t line) const override;
  void note_products(size_t line, size_t count) override;

private:
  VW::example& example(size_t line) const { return _context != nullptr ? *_context : *(*_actions)[line]; }
  VW::example& lend(size_t line) override;
  void take_back(size_t line) override;

  const VW::example* _shared_line = nullptr;
  const VW::multi_ex* _actions = nullptr;
  VW::example* _context = nullptr;
  feature_spans _own;
};
}  // namespace vw_fastcb

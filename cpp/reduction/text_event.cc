#include "text_event.h"

#include "vw/core/constant.h"
#include "vw/core/global_data.h"
#include "vw/core/simple_label.h"

#include <algorithm>

namespace vw_fastcb
{
void text_event::start(const VW::example* shared, const VW::multi_ex& actions)
{
  _shared_line = shared;
  _actions = &actions;
  _context = nullptr;
  const auto& first = *actions[0];
  vw_event::start(
      actions.size(), /*has_slots=*/false, first.ft_offset, *first.interactions, *first.extent_interactions);
  const auto like_the_first = [&first](const VW::example* action)
  {
    return action->interactions == first.interactions && action->extent_interactions == first.extent_interactions &&
           action->ft_offset == first.ft_offset;
  };
  _is_plain = _is_plain && std::all_of(actions.begin(), actions.end(), like_the_first);
  _shared.clear();
  if (shared == nullptr) { return; }
  for (const auto ns : shared->indices)
  {
    // Each action has its own constant.
    if (ns != VW::details::CONSTANT_NAMESPACE) { _shared.push_back(span_of(*shared, ns)); }
  }
}

void text_event::start(VW::example& context, size_t actions)
{
  _shared_line = nullptr;
  _actions = nullptr;
  _context = &context;
  vw_event::start(actions, /*has_slots=*/true, context.ft_offset, *context.interactions, *context.extent_interactions);
  _shared.clear();
}

const feature_spans& text_event::own(size_t line)
{
  const auto& ec = example(line);
  if (_own.size() != ec.indices.size()) { _own.resize(ec.indices.size()); }
  auto* span = _own.data();
  for (const auto ns : ec.indices) { *span++ = span_of(ec, ns); }
  return _own;
}

float text_event::initial(size_t line) const
{
  return example(line).ex_reduction_features.template get<VW::simple_label_reduction_features>().initial;
}

void text_event::note_products(size_t line, size_t count) { example(line).num_features_from_interactions = count; }

VW::example& text_event::lend(size_t line)
{
  auto& ec = example(line);
  if (_shared_line != nullptr) { VW::details::append_example_namespaces_from_example(ec, *_shared_line); }
  return ec;
}

void text_event::take_back(size_t line)
{
  if (_shared_line != nullptr) { VW::details::truncate_example_namespaces_from_example(example(line), *_shared_line); }
}
}  // namespace vw_fastcb

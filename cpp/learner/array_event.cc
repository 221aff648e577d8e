#include "array_event.h"

#include "plain_features.h"

#include "vw/core/constant.h"
#include "vw/core/global_data.h"
#include "vw/core/vw.h"

#include <cfloat>
#include <string>

namespace vw_fastcb
{
namespace
{
void set_up(VW::workspace& all, VW::example& ec)
{
  ec.interactions = &all.feature_tweaks_config.interactions;
  ec.extent_interactions = &all.feature_tweaks_config.extent_interactions;
}
}  // namespace

array_event::array_event(VW::workspace& all) : vw_event(all), _reads_rows(keeps_features(all))
{
  for (auto* ec : {&_context, &_action, &_constant_alone}) { set_up(all, *ec); }
  fill(_constant_alone, feature_rows(), 0, CONTEXT_NAMESPACE);
}

void array_event::start(const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t fixed_actions)
{
  _contexts = contexts;
  _actions = actions;
  _row = row;
  _fixed_actions = fixed_actions;
  _weight = 1.f;
  _has_context = false;
  const bool has_slots = fixed_actions > 0;
  const auto& tweaks = _all->feature_tweaks_config;
  vw_event::start(has_slots ? fixed_actions : actions.count(row), has_slots, /*offset=*/0, tweaks.interactions,
      tweaks.extent_interactions);
  _shared.clear();
  const auto room = room_per_feature(*_all);
  if (_reads_rows)
  {
    _context_row.start(contexts, room, CONTEXT_NAMESPACE);
    if (has_slots) { return; }
    _shared.push_back(_context_row.of(row));
    _action_row.start(actions.features, room, ACTION_NAMESPACE);
    return;
  }
  fill(_context, contexts, row, CONTEXT_NAMESPACE);
  _has_context = true;
  if (!has_slots) { read_spans(_context, _shared, /*with_constant=*/false); }
}

const feature_spans& array_event::own(size_t line)
{
  _own.clear();
  const bool has_slots = _fixed_actions > 0;
  if (!_reads_rows)
  {
    if (!has_slots) { fill(_action, _actions.features, _actions.begin(_row) + line, ACTION_NAMESPACE); }
    read_spans(has_slots ? _context : _action, _own, /*with_constant=*/true);
    return _own;
  }
  _own.push_back(has_slots ? _context_row.of(_row) : _action_row.of(_actions.begin(_row) + line));
  // In the order of VW's text, so that sums are rounded alike: the constant is last.
  for (const auto ns : _constant_alone.indices) { _own.push_back(span_of(_constant_alone, ns)); }
  return _own;
}

void array_event::read_spans(const VW::example& ec, feature_spans& spans, bool with_constant) const
{
  for (const auto ns : ec.indices)
  {
    if (with_constant || ns != VW::details::CONSTANT_NAMESPACE) { spans.push_back(span_of(ec, ns)); }
  }
}

VW::example& array_event::lend(size_t line)
{
  const bool has_slots = _fixed_actions > 0;
  if (!_has_context || _names_features)
  {
    fill(_context, _contexts, _row, CONTEXT_NAMESPACE);
    _has_context = true;
  }
  _context.weight = _weight;
  if (has_slots) { return _context; }
  fill(_action, _actions.features, _actions.begin(_row) + line, ACTION_NAMESPACE);
  _action.weight = _weight;
  VW::details::append_example_namespaces_from_example(_action, _context);
  return _action;
}

// VW's learners may leave the context changed by rounding, or by more.
void array_event::take_back(size_t)
{
  if (_fixed_actions > 0) { _has_context = false; }
  else { VW::details::truncate_example_namespaces_from_example(_action, _context); }
}

void array_event::fill(VW::example& ec, const feature_rows& rows, size_t row, unsigned char name_space)
{
  VW::empty_example(*_all, ec);
  ec.l.cb.reset_to_default();
  ec.l.cb.weight = 1.f;
  auto& space = ec.feature_space[name_space];
  rows.for_each(row, [&space](uint64_t index, float value) { space.push_back(value, index); });
  if (!space.empty()) { ec.indices.push_back(name_space); }
  VW::setup_example(*_all, &ec);
  if (_names_features) { name_features(ec, rows, row, name_space); }
}

void array_event::name_features(VW::example& ec, const feature_rows& rows, size_t row, unsigned char name_space) const
{
  auto& names = ec.feature_space[name_space].space_names;
  names.clear();
  rows.for_each(row,
      [&](uint64_t index, float) { names.emplace_back("", static_cast<char>(name_space) + std::to_string(index)); });
}

std::vector<explained_term> array_event::named_terms(size_t line)
{
  _names_features = true;
  auto found = terms(line);
  _names_features = false;
  _has_context = false;
  return found;
}

void array_event::row_buffer::start(const feature_rows& rows, uint64_t room, unsigned char name_space)
{
  _rows = rows;
  _room = room;
  _name_space = name_space;
}

feature_span array_event::row_buffer::of(size_t row)
{
  const size_t width = _rows.width(row);
  if (_values.size() < width)
  {
    _values.resize(width);
    _indices.resize(width);
  }
  const size_t count = _rows.copy_row(row, _room, _values.data(), _indices.data());
  return {_values.data(), _indices.data(), count, _name_space};
}
}  // namespace vw_fastcb

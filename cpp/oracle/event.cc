#include "event.h"

#include <algorithm>
#include <cfloat>

namespace vw_fastcb
{
namespace
{
constexpr size_t MOST_KEPT = 1 << 17;  // features: those of all lines, of any event that is not huge

float bounded(float product) { return std::max(-FLT_MAX, std::min(FLT_MAX, product)); }  // it may overflow
}  // namespace

bool are_pairs(const interaction_list& interactions)
{
  return std::all_of(interactions.begin(), interactions.end(),
      [](const auto& terms) { return terms.size() == 2 && terms[0] != terms[1]; });
}

void event::start(size_t actions, bool has_slots)
{
  _actions = actions;
  _has_slots = has_slots;
  _logits.clear();
  _features_kept = 0;
  _is_kept.assign(_is_kept.size(), 0);
}

keyed_features event::features(size_t line)
{
  const auto view = [](const feature_list& list)
  { return keyed_features{list.keys.data(), list.values.data(), list.keys.size()}; };
  if (line < _is_kept.size() && _is_kept[line] != 0) { return view(_kept[line]); }
  const bool keeps = _features_kept < MOST_KEPT;
  if (keeps && line >= _kept.size())
  {
    _kept.resize(line + 1);
    _is_kept.resize(line + 1, 0);
  }
  auto& read = keeps ? _kept[line] : _read;
  read.keys.clear();
  read.values.clear();
  if (_is_plain) { read_plain(line, read); }
  else { read_as_vw_does(line, read); }
  if (keeps)
  {
    _is_kept[line] = 1;
    _features_kept += read.keys.size();
  }
  return view(read);
}

// In the order of VW, which appends the shared features of a namespace to those of the action.
void event::read_plain(size_t line, feature_list& read)
{
  const auto& own_spans = own(line);
  const auto layout = _layout;
  const auto add = [&read, layout](const feature_span& span)
  {
    read.values.insert(read.values.end(), span.values, span.values + span.count);
    for (size_t i = 0; i < span.count; ++i) { read.keys.push_back(layout.key_of(span.indices[i])); }
  };
  const auto is_of = [](const feature_span& span)
  { return [&span](const feature_span& other) { return other.name_space == span.name_space; }; };
  for (const auto& span : own_spans)
  {
    add(span);
    const auto same = std::find_if(_shared.begin(), _shared.end(), is_of(span));
    if (same != _shared.end()) { add(*same); }
  }
  for (const auto& span : _shared)
  {
    if (std::none_of(own_spans.begin(), own_spans.end(), is_of(span))) { add(span); }
  }
  const auto linear = read.keys.size();
  if (!_interactions->empty()) { add_products(own_spans, read); }
  note_products(line, read.keys.size() - linear);
}

// What VW would do for pairs of namespaces, and in its order, at a fraction of the instructions.
void event::add_products(const feature_spans& own_spans, feature_list& read) const
{
  const auto layout = _layout;
  // The features of a namespace: those of the action, then those that it shares with others.
  const auto parts_of = [&](unsigned char name_space, const feature_span*(&parts)[2])
  {
    size_t count = 0;
    for (const auto* spans : {&own_spans, &_shared})
    {
      for (const auto& span : *spans)
      {
        if (span.name_space == name_space && count < 2) { parts[count++] = &span; }
      }
    }
    return count;
  };
  for (const auto& terms : *_interactions)
  {
    const feature_span* firsts[2];
    const feature_span* seconds[2];
    const auto first_parts = parts_of(terms[0], firsts);
    const auto second_parts = parts_of(terms[1], seconds);
    for (size_t f = 0; f < first_parts; ++f)
    {
      const auto& first = *firsts[f];
      for (size_t i = 0; i < first.count; ++i)
      {
        const uint64_t hash = hash_of_pair(first.indices[i], 0);
        const float value = first.values[i];
        for (size_t s = 0; s < second_parts; ++s)
        {
          const auto& second = *seconds[s];
          const size_t at = read.keys.size();
          read.keys.resize(at + second.count);
          read.values.resize(at + second.count);
          uint64_t* const keys = read.keys.data() + at;
          float* const values = read.values.data() + at;
          for (size_t j = 0; j < second.count; ++j) { keys[j] = layout.key_of(hash ^ second.indices[j]); }
          for (size_t j = 0; j < second.count; ++j) { values[j] = bounded(value * second.values[j]); }
        }
      }
    }
  }
}
}  // namespace vw_fastcb

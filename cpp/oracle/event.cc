#include "event.h"

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cstring>

namespace vw_fastcb
{
namespace
{
constexpr size_t MOST_KEPT = 1 << 17;  // features: those of all lines, of any event that is not huge

// A product may overflow.
float bounded(float product)
{
  const float most = product > FLT_MAX ? FLT_MAX : product;
  return most < -FLT_MAX ? -FLT_MAX : most;
}
}  // namespace

bool are_pairs(const interaction_list& interactions)
{
  return std::all_of(interactions.begin(), interactions.end(),
      [](const auto& terms) { return terms.size() == 2 && terms[0] != terms[1]; });
}

event::event()
{
  // Each has versions of its own.
  constexpr int VERSIONS_OF_ONE = 40;  // bits
  static std::atomic<uint64_t> events{0};
  _versions = ++events << VERSIONS_OF_ONE;
}

bool event::span_copy::take(const feature_spans& spans)
{
  bool is_same = spans.size() == _parts.size();
  size_t count = 0;
  for (size_t i = 0; i < spans.size(); ++i)
  {
    const auto& span = spans[i];
    is_same = is_same && _parts[i].count == span.count && _parts[i].name_space == span.name_space &&
              std::equal(span.indices, span.indices + span.count, _indices.begin() + static_cast<ptrdiff_t>(count)) &&
              std::memcmp(span.values, _values.data() + count, span.count * sizeof(float)) == 0;
    count += span.count;
  }
  if (is_same) { return true; }
  _parts.clear();
  _indices.clear();
  _values.clear();
  for (const auto& span : spans)
  {
    _parts.push_back({span.count, span.name_space});
    _indices.insert(_indices.end(), span.indices, span.indices + span.count);
    _values.insert(_values.end(), span.values, span.values + span.count);
  }
  return false;
}

void event::start(size_t actions, bool has_slots)
{
  _actions = actions;
  _has_slots = has_slots;
  _logits.clear();
  _features_kept = 0;
  ++_begun;
}

keyed_features event::features(size_t line)
{
  if (_features_kept > MOST_KEPT && (line >= _kept.size() || _kept[line].begun != _begun))
  {
    _unkept.clear();
    if (_is_plain) { read_plain(own(line), _unkept); }
    else { read_as_vw_does(line, _unkept); }
    return {_unkept.keys.data(), _unkept.values.data(), _unkept.keys.size(), ++_versions, /*is_kept=*/false};
  }
  if (line >= _kept.size()) { _kept.resize(line + 1); }
  auto& kept = _kept[line];
  if (kept.begun != _begun) { refresh(line, kept); }
  return {kept.read.keys.data(), kept.read.values.data(), kept.read.keys.size(), kept.version, /*is_kept=*/true};
}

void event::refresh(size_t line, kept_line& kept)
{
  kept.begun = _begun;
  if (_is_plain)
  {
    note_common();
    const auto& own_spans = own(line);
    const bool is_same = kept.own.take(own_spans) && kept.common_version == _common_version && kept.version != 0;
    if (!is_same)
    {
      kept.read.clear();
      read_plain(own_spans, kept.read);
      kept.version = ++_versions;
      kept.common_version = _common_version;
    }
    note_products(line, kept.read.products);
  }
  else
  {
    kept.read.clear();
    read_as_vw_does(line, kept.read);
    kept.version = ++_versions;
    kept.common_version = 0;
  }
  _features_kept += kept.read.keys.size();
}

void event::note_common()
{
  if (_common_begun == _begun) { return; }
  _common_begun = _begun;
  const bool has_same_layout = _layout.offset == _common_layout.offset && _layout.mask == _common_layout.mask &&
                               _layout.shift == _common_layout.shift;
  const bool is_same = _common_shared.take(_shared) && has_same_layout && *_interactions == _common_interactions;
  if (is_same) { return; }
  _common_layout = _layout;
  _common_interactions = *_interactions;
  ++_common_version;
}

// In the order of VW, which appends the shared features of a namespace to those of the action.
void event::read_plain(const feature_spans& own_spans, feature_list& read) const
{
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
  read.products = _interactions->empty() ? 0 : add_products(own_spans, read);
}

namespace
{
// The features of a namespace: those of the action, then those that it shares with others.
struct namespace_parts
{
  feature_span parts[2];
  size_t count = 0;
  size_t features = 0;

  namespace_parts(const feature_spans& own, const feature_spans& shared, unsigned char name_space)
  {
    for (const auto* spans : {&own, &shared})
    {
      const auto same = std::find_if(spans->begin(), spans->end(),
          [name_space](const feature_span& span) { return span.name_space == name_space; });
      if (same == spans->end()) { continue; }
      parts[count++] = *same;
      features += same->count;
    }
  }
};

// The products of a feature with those of a span.
void multiply(
    uint64_t index, float value, const feature_span& others, const key_layout& layout, uint64_t* keys, float* values)
{
  const uint64_t hash = hash_of_pair(index, 0);
  const uint64_t offset = layout.offset;
  const uint64_t mask = layout.mask;
  const uint32_t shift = layout.shift;
  const uint64_t* const indices = others.indices;
  const float* const other_values = others.values;
  const size_t count = others.count;
  for (size_t j = 0; j < count; ++j) { keys[j] = (((hash ^ indices[j]) + offset) & mask) >> shift; }
  for (size_t j = 0; j < count; ++j) { values[j] = bounded(value * other_values[j]); }
}
}  // namespace

// What VW would do for pairs of namespaces, and in its order, at a fraction of the instructions. Returns their number.
size_t event::add_products(const feature_spans& own_spans, feature_list& read) const
{
  const size_t before = read.keys.size();
  for (const auto& terms : *_interactions)
  {
    const namespace_parts firsts(own_spans, _shared, terms[0]);
    const namespace_parts seconds(own_spans, _shared, terms[1]);
    size_t at = read.keys.size();
    const size_t end = at + firsts.features * seconds.features;
    read.keys.resize(end);
    read.values.resize(end);
    for (size_t f = 0; f < firsts.count; ++f)
    {
      const auto& first = firsts.parts[f];
      for (size_t i = 0; i < first.count; ++i)
      {
        for (size_t s = 0; s < seconds.count; ++s)
        {
          const auto& second = seconds.parts[s];
          multiply(first.indices[i], first.values[i], second, _layout, read.keys.data() + at, read.values.data() + at);
          at += second.count;
        }
      }
    }
  }
  return read.keys.size() - before;
}
}  // namespace vw_fastcb

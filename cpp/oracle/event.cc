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

event::likeness event::span_copy::take(const feature_spans& spans)
{
  bool has_same_keys = spans.size() == _parts.size();
  bool has_same_values = true;
  size_t count = 0;
  for (size_t i = 0; i < spans.size(); ++i)
  {
    const auto& span = spans[i];
    has_same_keys = has_same_keys && _parts[i].count == span.count && _parts[i].name_space == span.name_space &&
                    std::memcmp(span.indices, _indices.data() + count, span.count * sizeof(uint64_t)) == 0;
    has_same_values = has_same_values && has_same_keys &&
                      std::memcmp(span.values, _values.data() + count, span.count * sizeof(float)) == 0;
    count += span.count;
  }
  if (has_same_keys && has_same_values) { return likeness::same; }
  _values.clear();
  for (const auto& span : spans) { _values.insert(_values.end(), span.values, span.values + span.count); }
  if (has_same_keys) { return likeness::same_keys; }
  _parts.clear();
  _indices.clear();
  for (const auto& span : spans)
  {
    _parts.push_back({span.count, span.name_space});
    _indices.insert(_indices.end(), span.indices, span.indices + span.count);
  }
  return likeness::different;
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
    if (_is_plain) { read_plain(own(line), /*keys_are_known=*/false, _unkept); }
    else { read_as_vw_does(line, _unkept); }
    ++_versions;
    return {_unkept.keys.data(), _unkept.values.data(), _unkept.keys.size(), _unkept.products, _versions, _versions,
        /*is_kept=*/false};
  }
  if (line >= _kept.size()) { _kept.resize(line + 1); }
  auto& kept = _kept[line];
  if (kept.begun != _begun) { refresh(line, kept); }
  const auto& read = kept.read;
  return {read.keys.data(), read.values.data(), read.keys.size(), read.products, kept.version, kept.keys_version,
      /*is_kept=*/true};
}

void event::refresh(size_t line, kept_line& kept)
{
  kept.begun = _begun;
  if (!_is_plain)
  {
    read_as_vw_does(line, kept.read);
    kept.version = kept.keys_version = ++_versions;
    kept.common = kept.common_keys = 0;
  }
  else
  {
    note_common();
    const auto& own_spans = own(line);
    const auto own_likeness = kept.own.take(own_spans);
    const bool has_same_keys = own_likeness != likeness::different && kept.common_keys == _common_keys;
    const bool is_same = own_likeness == likeness::same && kept.common == _common;
    if (!is_same)
    {
      read_plain(own_spans, has_same_keys, kept.read);
      kept.version = ++_versions;
      if (!has_same_keys) { kept.keys_version = kept.version; }
      kept.common = _common;
      kept.common_keys = _common_keys;
    }
    note_products(line, kept.read.products);
  }
  _features_kept += kept.read.keys.size();
}

void event::note_common()
{
  if (_common_begun == _begun) { return; }
  _common_begun = _begun;
  const bool has_same_layout = _layout.offset == _common_layout.offset && _layout.mask == _common_layout.mask &&
                               _layout.shift == _common_layout.shift && *_interactions == _common_interactions;
  const auto shared_likeness = _common_shared.take(_shared);
  if (!has_same_layout || shared_likeness != likeness::same) { ++_common; }
  if (has_same_layout && shared_likeness != likeness::different) { return; }
  ++_common_keys;
  _common_layout = _layout;
  _common_interactions = *_interactions;
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

// In the order of VW, which appends the shared features of a namespace to those of the action: all features, then the
// products of pairs. Calls feature(span), and product(index, value, span) for a feature times those of a span.
template <typename Feature, typename Product>
void for_each_part(const feature_spans& own, const feature_spans& shared, const interaction_list& interactions,
    Feature feature, Product product)
{
  const auto is_of = [](const feature_span& span)
  { return [&span](const feature_span& other) { return other.name_space == span.name_space; }; };
  for (const auto& span : own)
  {
    feature(span);
    const auto same = std::find_if(shared.begin(), shared.end(), is_of(span));
    if (same != shared.end()) { feature(*same); }
  }
  for (const auto& span : shared)
  {
    if (std::none_of(own.begin(), own.end(), is_of(span))) { feature(span); }
  }
  for (const auto& terms : interactions)
  {
    const namespace_parts firsts(own, shared, terms[0]);
    const namespace_parts seconds(own, shared, terms[1]);
    for (size_t f = 0; f < firsts.count; ++f)
    {
      const auto& first = firsts.parts[f];
      for (size_t i = 0; i < first.count; ++i)
      {
        for (size_t s = 0; s < seconds.count; ++s) { product(first.indices[i], first.values[i], seconds.parts[s]); }
      }
    }
  }
}

// How many features for_each_part goes through.
size_t count_features(
    const feature_spans& own, const feature_spans& shared, const interaction_list& interactions, size_t& products)
{
  size_t count = 0;
  for (const auto* spans : {&own, &shared})
  {
    for (const auto& span : *spans) { count += span.count; }
  }
  products = 0;
  for (const auto& terms : interactions)
  {
    products += namespace_parts(own, shared, terms[0]).features * namespace_parts(own, shared, terms[1]).features;
  }
  return count + products;
}
}  // namespace

// What VW would do for pairs of namespaces at a fraction of the instructions.
void event::read_plain(const feature_spans& own_spans, bool keys_are_known, feature_list& read) const
{
  const size_t count = count_features(own_spans, _shared, *_interactions, read.products);
  read.values.resize(count);
  float* values = read.values.data();
  for_each_part(
      own_spans, _shared, *_interactions,
      [&values](const feature_span& span) { values = std::copy_n(span.values, span.count, values); },
      [&values](uint64_t, float value, const feature_span& others)
      {
        const float* const from = others.values;
        for (size_t j = 0, end = others.count; j < end; ++j) { values[j] = bounded(value * from[j]); }
        values += others.count;
      });
  if (keys_are_known) { return; }
  read.keys.resize(count);
  uint64_t* keys = read.keys.data();
  const auto layout = _layout;
  for_each_part(
      own_spans, _shared, *_interactions,
      [&keys, layout](const feature_span& span)
      {
        keys = std::transform(
            span.indices, span.indices + span.count, keys, [layout](uint64_t i) { return layout.key_of(i); });
      },
      [&keys, layout](uint64_t index, float, const feature_span& others)
      {
        const uint64_t hash = hash_of_pair(index, 0);
        const uint64_t* const from = others.indices;
        for (size_t j = 0, end = others.count; j < end; ++j) { keys[j] = layout.key_of(hash ^ from[j]); }
        keys += others.count;
      });
}
}  // namespace vw_fastcb

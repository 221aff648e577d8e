#include "table_weights.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
namespace
{
// What gd keeps of a feature.
enum number
{
  WEIGHT,
  EVIDENCE,  // the sum of curvatures, as for values relative to the largest
  LARGEST    // value so far, regardless of its sign
};
}  // namespace

void table_weights::start(const keyed_features& features, const std::vector<uint32_t>& places, bool sums_repeated)
{
  _table = _find_table();
  _features.clear();
  for (const auto i : places) { _features.push_back({features.keys[i], features.values[i]}); }
  if (sums_repeated && _features.size() > 1) { sum_repeated(); }
}

double table_weights::score(size_t slot) const
{
  double sum = 0.;
  for (const auto& feature : _features) { sum += double{feature.value} * double{*_table.at(feature.key, slot)}; }
  return sum;
}

// Each stays where it is first. The columns of the block add up by themselves.
void table_weights::sum_repeated()
{
  size_t room = 2;
  while (room < 2 * _features.size()) { room *= 2; }
  _places.assign(room, 0);
  constexpr uint64_t SPREAD = 0x9e3779b97f4a7c15;  // neighbours go far apart
  size_t kept = 0;
  for (size_t i = 0; i < _features.size(); ++i)
  {
    const feature next = _features[i];
    size_t at = ((next.key * SPREAD) >> 32) & (room - 1);
    while (_places[at] != 0 && _features[_places[at] - 1].key != next.key) { at = (at + 1) & (room - 1); }
    if (_places[at] == 0)
    {
      _features[kept] = next;
      _places[at] = ++kept;
      continue;
    }
    auto& value = _features[_places[at] - 1].value;
    value = to_float(double{value} + next.value);
  }
  _features.resize(kept);
}

double table_weights::variance(size_t slot)
{
  double sum = 0.;
  for (const auto& feature : _features)
  {
    float* const numbers = _table.at(feature.key, slot);
    const float size = std::fabs(feature.value);
    if (size > numbers[LARGEST])
    {
      if (numbers[LARGEST] == 0.f && _count) { ++*_count; }
      const double ratio = double{numbers[LARGEST]} / size;
      numbers[EVIDENCE] = static_cast<float>(numbers[EVIDENCE] * ratio * ratio);
      numbers[LARGEST] = size;
    }
    const double value = numbers[LARGEST] > 0.f ? double{size} / numbers[LARGEST] : 0.;
    sum += value * value / (PRIOR_OF_REST + double{numbers[EVIDENCE]});
  }
  return sum;
}

double table_weights::variance_of(
    const keyed_features& features, const std::vector<uint32_t>& places, size_t slot) const
{
  const auto table = _find_table();
  double sum = 0.;
  for (const auto i : places)
  {
    const float* const numbers = table.at(features.keys[i], slot);
    const double size = std::fabs(features.values[i]);
    if (size == 0.) { continue; }
    const double ratio = std::min(1., double{numbers[LARGEST]} / size);  // a larger value has less evidence
    const double value = ratio < 1. ? 1. : size / double{numbers[LARGEST]};
    sum += value * value / (PRIOR_OF_REST + double{numbers[EVIDENCE]} * ratio * ratio);
  }
  return sum;
}

void table_weights::take_step(size_t slot, double by, double evidence, double share)
{
  for (const auto& feature : _features)
  {
    float* const numbers = _table.at(feature.key, slot);
    if (!(numbers[LARGEST] > 0.f)) { continue; }
    const double value = double{feature.value} / numbers[LARGEST];
    const double variance = 1. / (PRIOR_OF_REST + double{numbers[EVIDENCE]});
    numbers[WEIGHT] = to_float(numbers[WEIGHT] - by * variance * value / numbers[LARGEST]);
    numbers[EVIDENCE] = to_float(share * numbers[EVIDENCE] + evidence * value * value);
  }
}

size_t table_weights::count()
{
  if (_count) { return *_count; }
  const auto table = _find_table();
  const size_t apart = size_t{1} << table.shift;
  size_t count = 0;
  for (uint64_t at = 0; apart > LARGEST && at <= table.mask; at += apart)
  {
    if (table.numbers[at + LARGEST] > 0.f) { ++count; }
  }
  _count = count;
  return count;
}

rest_weights table_weights::knowledge() const
{
  rest_weights known;
  const auto table = _find_table();
  for (uint64_t at = 0; at <= table.mask; at += uint64_t{1} << table.shift)
  {
    const float* const numbers = table.numbers + at;
    if (!(numbers[LARGEST] > 0.f)) { continue; }
    known.add({at >> table.shift, numbers[WEIGHT], numbers[EVIDENCE], numbers[LARGEST]});
  }
  return known;
}

void table_weights::take_over(const rest_weights& known)
{
  const auto table = _find_table();
  for (const auto& weight : known)
  {
    float* const numbers = table.at(weight.place, 0);
    numbers[WEIGHT] = to_float(weight.weight);
    numbers[EVIDENCE] = to_float(weight.evidence);
    numbers[LARGEST] = to_float(weight.largest);
  }
  _count = known.size();
}
}  // namespace vw_fastcb

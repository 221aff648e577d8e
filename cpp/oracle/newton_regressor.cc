#include "newton_regressor.h"

#include "newton_merger.h"

#include "vw/common/vw_exception.h"
#include "vw/core/constant.h"
#include "vw/core/global_data.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/simple_label.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace vw_fastcb
{
namespace
{
// By evidence; see benchmarks/science/README.md.
constexpr double LEAST_CURVATURE = 1e-3;

constexpr double MOST_WEIGHT = 1e6;  // of one event: with more, rounding would be all that is left of the others

// What gd keeps of a feature.
enum number
{
  WEIGHT,
  EVIDENCE,  // the sum of curvatures, as for values relative to the largest
  LARGEST    // value so far, regardless of its sign
};

float initial_of(const VW::example& ec)
{
  return ec.ex_reduction_features.template get<VW::simple_label_reduction_features>().initial;
}

double sigmoid(double logit) { return 1. / (1. + std::exp(-logit)); }

double weight_of(const VW::example& ec) { return std::min(MOST_WEIGHT, double{ec.weight}); }

// Where a heavy event moves a prediction: logit' = logit - weight * variance * (sigmoid(logit') - outcome), solved by
// bisection. A single Newton step goes by the curvature at the old prediction, and with such a weight far too far.
double prediction_after(double logit, double variance, double weight, double outcome)
{
  const double farthest = logit - weight * variance * (sigmoid(logit) - outcome);
  double low = std::min(logit, farthest);
  double high = std::max(logit, farthest);
  constexpr int HALVINGS = 100;
  for (int i = 0; i < HALVINGS; ++i)
  {
    const double middle = .5 * (low + high);
    const bool too_high = middle - logit + weight * variance * (sigmoid(middle) - outcome) > 0.;
    (too_high ? high : low) = middle;
  }
  return sigmoid(.5 * (low + high));
}

}  // namespace

newton_regressor::newton_regressor(VW::workspace& all, size_t capacity, double memory)
    : _all(&all)
    , _block(capacity, memory)
{
}

void newton_regressor::find_features(VW::example& ec)
{
  _keys.clear();
  _values.clear();
  const auto& interactions = *ec.interactions;
  const bool are_pairs = std::all_of(interactions.begin(), interactions.end(),
      [](const auto& terms) { return terms.size() == 2 && terms[0] != terms[1]; });
  if (!are_pairs || !ec.extent_interactions->empty() || _all->feature_tweaks_config.ignore_some_linear)
  {
    VW::foreach_feature<newton_regressor, uint64_t, add_feature>(*_all, ec, *this, ec.num_features_from_interactions);
  }
  else
  {
    for (const auto ns : ec.indices)
    {
      const auto& features = ec.feature_space[ns];
      _values.insert(_values.end(), features.values.begin(), features.values.end());
      for (const auto index : features.indices) { _keys.push_back(index + ec.ft_offset); }
    }
    add_products(ec);
  }
  const uint64_t mask = _all->weights.dense_weights.mask();
  const auto shift = _all->weights.stride_shift();  // with -t there is less room between weights: keys are the same
  for (auto& key : _keys) { key = (key & mask) >> shift; }
}

// What VW would do for pairs of namespaces, and in its order, at a fraction of the instructions.
void newton_regressor::add_products(VW::example& ec)
{
  constexpr uint64_t FACTOR = 16777619;  // VW hashes a pair of features as (first * FACTOR) ^ second
  const auto before = _keys.size();
  for (const auto& terms : *ec.interactions)
  {
    const auto& first = ec.feature_space[terms[0]];
    const auto& second = ec.feature_space[terms[1]];
    const size_t count = second.size();
    for (size_t i = 0; i < first.size(); ++i)
    {
      const uint64_t hash = FACTOR * first.indices[i];
      const float value = first.values[i];
      const size_t at = _keys.size();
      _keys.resize(at + count);
      _values.resize(at + count);
      uint64_t* const keys = _keys.data() + at;
      float* const values = _values.data() + at;
      const uint64_t* const other_indices = second.indices.begin();
      const float* const other_values = second.values.begin();
      const uint64_t offset = ec.ft_offset;
      for (size_t j = 0; j < count; ++j) { keys[j] = (hash ^ other_indices[j]) + offset; }
      for (size_t j = 0; j < count; ++j)
      {
        const float product = value * other_values[j];
        const float most = product > FLT_MAX ? FLT_MAX : product;  // it may overflow
        values[j] = most < -FLT_MAX ? -FLT_MAX : most;
      }
    }
  }
  ec.num_features_from_interactions = _keys.size() - before;
}

// The columns of the features. Often they are those of the example before.
void newton_regressor::find_columns(bool admits)
{
  if (_keys == _recent_keys && !(admits && _recent_lack_columns)) { return; }
  const uint64_t intercept = intercept_key();
  const auto before = _block.columns();
  _recent_keys.resize(_keys.size(), newton_block::NO_KEY);
  _recent_columns.resize(_keys.size());
  _recent_lack_columns = false;
  for (size_t i = 0; i < _keys.size(); ++i)
  {
    const auto key = _keys[i];
    if (_recent_keys[i] != key || (_recent_columns[i] == newton_block::NOT_HERE && admits))
    {
      _recent_keys[i] = key;
      if (key == intercept) { _recent_columns[i] = 0; }
      else { _recent_columns[i] = admits ? _block.admit(key) : _block.column_of(key); }
    }
    _recent_lack_columns = _recent_lack_columns || _recent_columns[i] == newton_block::NOT_HERE;
  }
  if (_block.columns() != before)
  {
    _block.count_columns();
    _recent_keys.clear();  // a feature that had no column then may have one now
  }
}

void newton_regressor::read(VW::example& ec, bool admits)
{
  hide_weights();
  find_features(ec);
  find_columns(admits);
  _row.assign(padded(_block.columns()), 0.);
  _rest.clear();
  double* const row = _row.data();
  const size_t* const columns = _recent_columns.data();
  const float* const values = _values.data();
  const size_t count = _keys.size();
  if (!_recent_lack_columns)
  {
    for (size_t i = 0; i < count; ++i) { row[columns[i]] += double{values[i]}; }
    return;
  }
  for (size_t i = 0; i < count; ++i)
  {
    if (columns[i] != newton_block::NOT_HERE) { row[columns[i]] += double{values[i]}; }
    else { _rest.push_back({_keys[i], values[i]}); }
  }
  if (_sums_repeated) { sum_repeated_features(); }
}

// Each stays where it is first. The columns of the block add up by themselves.
void newton_regressor::sum_repeated_features()
{
  size_t room = 2;
  while (room < 2 * _rest.size()) { room *= 2; }
  _places.assign(room, 0);
  constexpr uint64_t SPREAD = 0x9e3779b97f4a7c15;  // neighbours go far apart
  size_t kept = 0;
  for (size_t i = 0; i < _rest.size(); ++i)
  {
    const feature next = _rest[i];
    size_t at = ((next.key * SPREAD) >> 32) & (room - 1);
    while (_places[at] != 0 && _rest[_places[at] - 1].key != next.key) { at = (at + 1) & (room - 1); }
    if (_places[at] == 0)
    {
      _rest[kept] = next;
      _places[at] = ++kept;
      continue;
    }
    auto& value = _rest[_places[at] - 1].value;
    value = finite(double{value} + next.value);
  }
  _rest.resize(kept);
}

// VW's constant is the intercept.
uint64_t newton_regressor::intercept_key() const
{
  const auto width = static_cast<uint64_t>(_all->reduction_state.total_feature_width);
  return (VW::details::CONSTANT * width) & (_all->weights.dense_weights.mask() >> _all->weights.stride_shift());
}

void newton_regressor::set_bytes(const std::string& bytes)
{
  _block.set_bytes(bytes);
  _recent_keys.clear();
}

void newton_regressor::continue_from(const newton_regressor& other)
{
  _weights_of_rest = other._weights_of_rest;
  _block = other._block;
  _block.multiply_keys(_all->reduction_state.total_feature_width, other._all->reduction_state.total_feature_width);
  _recent_keys.clear();
}

void newton_regressor::add_feature(newton_regressor& self, float value, uint64_t index)
{
  self._keys.push_back(index);
  self._values.push_back(std::isnan(value) ? 0.f : finite(value));  // a product may overflow
}

float* newton_regressor::weights_of(uint64_t key, size_t slot, size_t step) const
{
  auto& weights = _all->weights.dense_weights;
  return weights.data() + (((key << weights.stride_shift()) + slot * step) & weights.mask());
}

void newton_regressor::score(VW::example& ec, size_t step, std::vector<float>& logits)
{
  read(ec, /*admits=*/false);
  _raw_row = _row;
  _block.standardise(_row);
  const double initial = initial_of(ec);
  for (size_t slot = 0; slot < logits.size(); ++slot)
  {
    logits[slot] = finite(initial + _block.score(slot, _row) + rest_of_score(slot, step));
  }
}

newton_regressor::part newton_regressor::part_of_score(uint64_t index, double value, size_t slot, size_t step)
{
  hide_weights();
  const auto key = index >> _all->weights.stride_shift();
  const auto column = key == intercept_key() ? 0 : _block.column_of(key);
  if (column != newton_block::NOT_HERE)
  {
    return {_block.raw_weight(slot, column), _block.part_of_score(slot, column, value)};
  }
  const double weight = *weights_of(key, slot, step);
  return {weight, weight * value};
}

void newton_regressor::see(VW::example& ec)
{
  read(ec, /*admits=*/true);
  _event.resize(_block.columns());
  _event.add(_row.data(), 1.);
}

void newton_regressor::learn(VW::example& ec, size_t slot, size_t step, float outcome, bool just_now)
{
  see_and_standardise(ec, just_now);
  step_of_slot(ec, slot, step, outcome);
}

void newton_regressor::learn_every_slot(VW::example& ec, size_t step, const std::vector<float>& outcomes)
{
  see_and_standardise(ec);
  for (size_t slot = 0; slot < outcomes.size(); ++slot) { step_of_slot(ec, slot, step, outcomes[slot]); }
}

void newton_regressor::see_and_standardise(VW::example& ec, bool just_now)
{
  const double weight = weight_of(ec);
  const bool admits_nothing = _rest.empty() || _block.is_full();
  if (just_now && admits_nothing) { _row.swap(_raw_row); }
  else { read(ec, /*admits=*/true); }
  if (_event.weight > 0.) { _block.see(_event, weight); }
  else { _block.see(_row.data(), weight); }
  start_event();
  _block.standardise(_row);
}

void newton_regressor::step_of_slot(const VW::example& ec, size_t slot, size_t step, float outcome)
{
  const double weight = weight_of(ec);
  const bool heavy = weight > 1.;
  const double variance = _block.variance(slot, _row) + rest_of_variance(slot, step);
  const double logit = initial_of(ec) + _block.score(slot, _row) + rest_of_score(slot, step);
  const double predicted = heavy ? prediction_after(logit, variance, weight, outcome) : sigmoid(logit);
  const double curvature = std::max(LEAST_CURVATURE, predicted * (1. - predicted));
  const double gain = 1. / (1. / weight + curvature * variance);
  const double by = (heavy ? weight : gain) * (predicted - double{outcome});
  _block.step(slot, by, gain * curvature);
  rest_of_step(slot, step, by, weight * curvature);
}

newton_knowledge newton_regressor::knowledge() const
{
  newton_knowledge known{_block, {}};
  const auto& table = _all->weights.dense_weights;
  for (uint64_t at = 0; at <= table.mask(); at += table.stride())
  {
    const float* const numbers = table.data() + at;
    if (!(numbers[LARGEST] > 0.f)) { continue; }
    known.rest.add({at >> table.stride_shift(), numbers[WEIGHT], numbers[EVIDENCE], numbers[LARGEST]});
  }
  return known;
}

void newton_regressor::take_over(newton_knowledge&& known)
{
  for (const auto& weight : known.rest)
  {
    float* const numbers = weights_of(weight.place, 0, 0);
    numbers[WEIGHT] = finite(weight.weight);
    numbers[EVIDENCE] = finite(weight.evidence);
    numbers[LARGEST] = finite(weight.largest);
  }
  _weights_of_rest = known.rest.size();
  _block = std::move(known.block);
  _recent_keys.clear();
}

void newton_regressor::merge(const std::vector<const newton_regressor*>& models, size_t step)
{
  if (models.empty()) { return; }
  std::vector<newton_knowledge> known;
  std::vector<const newton_knowledge*> parts;
  known.reserve(models.size());
  for (const auto* model : models)
  {
    known.push_back(model->knowledge());
    parts.push_back(&known.back());
  }
  const auto& table = _all->weights.dense_weights;
  const table_layout layout{table.mask() >> table.stride_shift(), step >> table.stride_shift()};
  _base = models.front()->_base;
  take_over(newton_merger::merged(parts, _base ? &*_base : nullptr, layout));
}

void newton_regressor::subtract(const newton_regressor& model, const newton_regressor& base)
{
  if (model._block.share() < 1.)
  {
    THROW(
        "learners with --fastcb_memory forget what a base model knew, and nobody can tell how much of it they still "
        "have. Merge learners that started without a model, and give merge_models None as the base.");
  }
  const auto& keys = model._block.keys();
  const auto& keys_of_base = base._block.keys();
  if (keys.size() < keys_of_base.size() || !std::equal(keys_of_base.begin(), keys_of_base.end(), keys.begin()))
  {
    THROW(
        "a model that is to be merged did not start from the base model: it lacks features that the base knows. Give "
        "the base model that the others started from, or None if they started without one.");
  }
  _base = base.knowledge();
  take_over(model.knowledge());
}

void newton_regressor::add(const newton_regressor& base, const newton_regressor& difference)
{
  if (!difference._base || difference._base->block.bytes() != base.bytes())
  {
    THROW(
        "with --fastcb_oracle newton a difference of models can be added only to the model that it was taken from, in "
        "the same process. Give vw_fastcb.merge_models the base and the models instead.");
  }
  take_over(difference.knowledge());
}

size_t newton_regressor::weights_of_rest()
{
  if (_weights_of_rest) { return *_weights_of_rest; }
  const auto& table = _all->weights.dense_weights;
  size_t count = 0;
  for (uint64_t at = 0; table.stride() > LARGEST && at <= table.mask(); at += table.stride())
  {
    if (table.data()[at + LARGEST] > 0.f) { ++count; }
  }
  _weights_of_rest = count;
  return count;
}

double newton_regressor::rest_of_score(size_t slot, size_t step) const
{
  double sum = 0.;
  for (const auto& feature : _rest) { sum += double{feature.value} * double{*weights_of(feature.key, slot, step)}; }
  return sum;
}

double newton_regressor::rest_of_variance(size_t slot, size_t step)
{
  double sum = 0.;
  for (const auto& feature : _rest)
  {
    float* const numbers = weights_of(feature.key, slot, step);
    const float size = std::fabs(feature.value);
    if (size > numbers[LARGEST])
    {
      if (numbers[LARGEST] == 0.f && _weights_of_rest) { ++*_weights_of_rest; }
      const double ratio = double{numbers[LARGEST]} / size;
      numbers[EVIDENCE] = static_cast<float>(numbers[EVIDENCE] * ratio * ratio);
      numbers[LARGEST] = size;
    }
    const double value = numbers[LARGEST] > 0.f ? double{size} / numbers[LARGEST] : 0.;
    sum += value * value / (PRIOR_OF_REST + double{numbers[EVIDENCE]});
  }
  return sum;
}

void newton_regressor::rest_of_step(size_t slot, size_t step, double by, double evidence)
{
  for (const auto& feature : _rest)
  {
    float* const numbers = weights_of(feature.key, slot, step);
    if (!(numbers[LARGEST] > 0.f)) { continue; }
    const double value = double{feature.value} / numbers[LARGEST];
    const double variance = 1. / (PRIOR_OF_REST + double{numbers[EVIDENCE]});
    numbers[WEIGHT] = finite(numbers[WEIGHT] - by * variance * value / numbers[LARGEST]);
    numbers[EVIDENCE] = finite(_block.share() * numbers[EVIDENCE] + evidence * value * value);
  }
}

void newton_regressor::show_weights(size_t step)
{
  fill_table(step, /*with_weights=*/true);
  _shown_step = step;
}

void newton_regressor::hide_weights()
{
  if (_shown_step != 0) { fill_table(_shown_step, /*with_weights=*/false); }
  _shown_step = 0;
}

void newton_regressor::fill_table(size_t step, bool with_weights)
{
  for (size_t slot = 0; slot < _block.slots().size(); ++slot)
  {
    for (size_t column = 0; column < _block.columns(); ++column)
    {
      const auto key = column == 0 ? intercept_key() : _block.keys()[column];
      if (key == newton_block::NO_KEY) { continue; }
      *weights_of(key, slot, step) = with_weights ? finite(_block.raw_weight(slot, column)) : 0.f;
    }
  }
}
}  // namespace vw_fastcb

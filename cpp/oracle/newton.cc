#include "newton.h"

#include "deviation.h"
#include "explained_term.h"
#include "newton_merger.h"
#include "step_length.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace vw_fastcb
{
namespace
{
constexpr double MOST_WEIGHT = 1e6;  // of one event: with more, rounding would be all that is left of the others

double weight_of(const event& of, size_t line) { return std::min(MOST_WEIGHT, double{of.weight(line)}); }

const newton& as_newton(const regressor& other) { return static_cast<const newton&>(other); }  // VW merges equals only
}  // namespace

newton::newton(std::function<weight_table()> table, size_t capacity, double memory)
    : _block(capacity, memory)
    , _rest(std::move(table))
{
}

const newton::resolved_line& newton::resolve(const keyed_features& features, size_t line, bool admits)
{
  hide_weights();
  if (!features.is_kept)
  {
    resolve_anew(features, admits, _unkept);
    return _unkept;
  }
  if (line >= _lines.size()) { _lines.resize(line + 1); }
  auto& known = _lines[line];
  // A feature outside the block stays there once the block is full.
  const bool can_admit = admits && !_block.is_full();
  const bool may_have_moved = !known.in_rest.empty() && (can_admit || known.block_columns != _block.columns());
  if (known.keys_version != features.keys_version || may_have_moved) { resolve_anew(features, admits, known); }
  return known;
}

void newton::resolve_anew(const keyed_features& features, bool admits, resolved_line& line)
{
  const auto constant = _rest.table().constant_key;
  line.in_block.clear();
  line.columns.clear();
  line.in_rest.clear();
  for (uint32_t i = 0; i < features.count; ++i)
  {
    const auto key = features.keys[i];
    auto column = key == constant ? 0 : _block.column_of(key);
    if (column == newton_block::NOT_HERE && admits) { column = _block.admit(key); }
    if (column == newton_block::NOT_HERE)
    {
      line.in_rest.push_back(i);
      continue;
    }
    line.in_block.push_back(i);
    line.columns.push_back(static_cast<uint32_t>(column));
  }
  _block.count_columns();
  _row.start(_block.columns());
  line.is_distinct = true;
  for (const auto column : line.columns) { line.is_distinct = _row.add(column, 0.) && line.is_distinct; }
  line.keys_version = features.keys_version;
  line.block_columns = _block.columns();
}

void newton::fill_row(const keyed_features& features, const resolved_line& line)
{
  if (line.is_distinct)
  {
    _row.set(_block.columns(), line.columns, line.in_block, features.values);
    return;
  }
  _row.start(_block.columns());
  for (size_t i = 0; i < line.columns.size(); ++i)
  {
    _row.add(line.columns[i], double{features.values[line.in_block[i]]});
  }
}

double newton::score_of_rest(const keyed_features& features, const resolved_line& line, size_t slot) const
{
  if (line.in_rest.empty()) { return 0.; }
  const auto table = _rest.table();
  double sum = 0.;
  for (const auto i : line.in_rest) { sum += double{features.values[i]} * double{*table.at(features.keys[i], slot)}; }
  return sum;
}

void newton::score(event& of, std::vector<float>& logits)
{
  if (!of.has_slots())
  {
    for (size_t a = 0; a < logits.size(); ++a)
    {
      const auto features = of.features(a);
      const auto& line = resolve(features, a, /*admits=*/false);
      fill_row(features, line);
      logits[a] = to_float(of.initial(a) + _block.score(0, _row) + score_of_rest(features, line, 0));
    }
    return;
  }
  const auto features = of.features(0);
  const auto& line = resolve(features, 0, /*admits=*/false);
  fill_row(features, line);
  _block.standardise(_row, _standardised);
  const double initial = of.initial(0);
  for (size_t slot = 0; slot < logits.size(); ++slot)
  {
    logits[slot] = to_float(initial + _block.score(slot, _standardised) + score_of_rest(features, line, slot));
  }
}

void newton::score_limits(event& of, double shift, std::vector<float>& logits, std::vector<float>& limits)
{
  score(of, logits);
  limits.resize(logits.size());
  const bool has_slots = of.has_slots();
  for (size_t a = 0; a < logits.size(); ++a)
  {
    const auto features = of.features(has_slots ? 0 : a);
    const auto& line = resolve(features, has_slots ? 0 : a, /*admits=*/false);
    if (!has_slots || a == 0)
    {
      fill_row(features, line);
      _block.standardise(_row, _standardised);
    }
    const size_t slot = has_slots ? a : 0;
    const double variance = _block.variance(slot, _standardised) + _rest.variance_of(features, line.in_rest, slot);
    limits[a] =
        to_float(logits[a] + shift * deviation_of(variance, _block.variance_of_intercept(slot), _block.columns()));
  }
}

double newton::learn(event& of, size_t action, float outcome)
{
  const size_t line = of.has_slots() ? 0 : action;
  see(of, line);
  return take_step(of, line, of.has_slots() ? action : 0, outcome);
}

void newton::learn_all(event& of, const std::vector<float>& outcomes)
{
  see(of, 0);
  for (size_t slot = 0; slot < outcomes.size(); ++slot) { take_step(of, 0, slot, outcomes[slot]); }
}

void newton::see(event& of, size_t chosen)
{
  const double weight = weight_of(of, chosen);
  if (!of.has_slots())
  {
    for (size_t a = 0; a < of.actions(); ++a)
    {
      const auto features = of.features(a);
      fill_row(features, resolve(features, a, /*admits=*/true));
      _rows.add(_row);
    }
  }
  const auto features = of.features(chosen);
  const auto& line = resolve(features, chosen, /*admits=*/true);
  fill_row(features, line);
  _rest.start(features, line.in_rest, /*sums_repeated=*/_arithmetic > 0);
  if (of.has_slots()) { _block.see(_row, weight); }
  else { _block.see(_rows.take(_block.columns()), weight); }
  _block.standardise(_row, _standardised);
}

double newton::take_step(const event& of, size_t line, size_t slot, float outcome)
{
  const double weight = weight_of(of, line);
  auto step = _block.begin_step(slot, _standardised);
  const double variance = step.variance + _rest.variance(slot);
  const double logit = of.initial(line) + _block.score(slot, _standardised) + _rest.score(slot);
  const auto length = step_towards(outcome, logit, variance, weight);
  step.take(length.by, length.shrinkage);
  _rest.take_step(slot, length.by, weight * length.curvature, _block.share());
  return logit;
}

void newton::explain(std::vector<explained_term>& terms, size_t slots)
{
  hide_weights();
  const auto table = _rest.table();
  const auto constant = table.constant_key << table.shift;
  const auto is_constant = [&](const explained_term& term) { return term.index == constant; };
  if (std::none_of(terms.begin(), terms.end(), is_constant)) { terms.push_back({"", constant, 0., {}, {}}); }
  for (auto& term : terms)
  {
    const auto key = term.index >> table.shift;
    const auto column = is_constant(term) ? 0 : _block.column_of(key);
    for (size_t slot = 0; slot < slots; ++slot)
    {
      const bool is_in_block = column != newton_block::NOT_HERE;
      const double weight = is_in_block ? _block.raw_weight(slot, column) : double{_rest.weight(key, slot)};
      const double part = is_in_block ? _block.part_of_score(slot, column, term.value) : weight * term.value;
      term.weights.push_back(weight);
      term.contributions.push_back(part + (is_constant(term) ? _block.score_of_zeros(slot) : 0.));
    }
  }
}

double newton::weights()
{
  const auto in_block = std::max(size_t{1}, _block.slots().size()) * _block.columns();
  return static_cast<double>(in_block + (_arithmetic > 0 ? _rest.count() : 0));
}

regressor_state newton::state()
{
  const uint64_t in_table = _arithmetic > 0 ? _rest.count() : 0;
  hide_weights();
  return {_block.bytes(), in_table};
}

void newton::set_state(const regressor_state& state)
{
  _block.set_bytes(state.bytes);
  forget_lines();
  _rest.set_count(state.weights_in_table);
}

void newton::continue_from(const regressor& other)
{
  const auto& from = as_newton(other);
  auto& source = const_cast<newton&>(from);  // counting changes nothing
  _rest.set_count(source._rest.count());
  _block = from._block;
  forget_lines();
  _block.multiply_keys(_rest.table().keys_per_name, from._rest.table().keys_per_name);
}

void newton::take_over(newton_knowledge&& known)
{
  _rest.take_over(known.rest);
  _block = std::move(known.block);
  forget_lines();
}

void newton::merge(const std::vector<const regressor*>& models)
{
  if (models.empty()) { return; }
  std::vector<newton_knowledge> known;
  std::vector<const newton_knowledge*> parts;
  known.reserve(models.size());
  for (const auto* model : models)
  {
    known.push_back(as_newton(*model).knowledge());
    parts.push_back(&known.back());
  }
  const auto table = _rest.table();
  const table_layout layout{table.mask >> table.shift, table.slots_apart >> table.shift};
  _base = as_newton(*models.front())._base;
  take_over(newton_merger::merged(parts, _base ? &*_base : nullptr, layout));
}

void newton::become_difference(const regressor& model, const regressor& base)
{
  const auto& own = as_newton(model);
  if (own._block.share() < 1.)
  {
    throw std::invalid_argument(
        "learners with --fastcb_memory forget what a base model knew, and nobody can tell how much of it they still "
        "have. Merge learners that started without a model, and give merge_models None as the base.");
  }
  const auto& keys = own._block.keys();
  const auto& keys_of_base = as_newton(base)._block.keys();
  if (keys.size() < keys_of_base.size() || !std::equal(keys_of_base.begin(), keys_of_base.end(), keys.begin()))
  {
    throw std::invalid_argument(
        "a model that is to be merged did not start from the base model: it lacks features that the base knows. Give "
        "the base model that the others started from, or None if they started without one.");
  }
  _base = as_newton(base).knowledge();
  take_over(own.knowledge());
}

void newton::become_sum(const regressor& base, const regressor& difference)
{
  const auto& gained = as_newton(difference);
  if (!gained._base || gained._base->block.bytes() != as_newton(base)._block.bytes())
  {
    throw std::invalid_argument(
        "with --fastcb_oracle newton a difference of models can be added only to the model that it was taken from, in "
        "the same process. Give vw_fastcb.merge_models the base and the models instead.");
  }
  take_over(gained.knowledge());
}

void newton::show_weights()
{
  fill_table(/*with_weights=*/true);
  _shows_weights = true;
}

void newton::hide_weights()
{
  if (_shows_weights) { fill_table(/*with_weights=*/false); }
  _shows_weights = false;
}

void newton::fill_table(bool with_weights)
{
  const auto constant = _rest.table().constant_key;
  for (size_t slot = 0; slot < _block.slots().size(); ++slot)
  {
    for (size_t column = 0; column < _block.columns(); ++column)
    {
      const auto key = column == 0 ? constant : _block.keys()[column];
      if (key == newton_block::NO_KEY) { continue; }
      _rest.set_weight(key, slot, with_weights ? _block.raw_weight(slot, column) : 0.);
    }
  }
}
}  // namespace vw_fastcb

#include "ensemble.h"

#include "deviation.h"
#include "explained_term.h"
#include "step_length.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace vw_fastcb
{
namespace
{
// By evidence; see benchmarks/science/README.md.
constexpr size_t COLUMNS_PER_FULL_ONE = 16;
constexpr const char* NAME_OF_GD = "gd";

constexpr double MOST_WEIGHT = 1e6;  // of one event: with more, rounding would be all that is left of the others
constexpr size_t MOST_ROWS = 32;     // of an event from which means and deviations are learned

std::vector<member_kind> member_kinds()
{
  member_kind linear{"linear"};
  linear.reads_products = true;
  linear.has_rest = true;
  member_kind curved{"curved"};
  curved.is_curved = true;
  const member_kind main{"main"};
  member_kind common{"common"};
  common.keeps_sizes = true;
  return {linear, curved, main, common};
}

const member_kind& kind_named(const std::string& name)
{
  static const auto kinds = member_kinds();
  const auto named = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return name == kind.name; });
  if (named != kinds.end()) { return *named; }
  std::string names = NAME_OF_GD;
  for (const auto& kind : kinds) { names += std::string(", ") + kind.name; }
  throw std::invalid_argument(
      "--fastcb_members has '" + name + "'; expected names with commas between them, of these: " + names + ".");
}
}  // namespace

ensemble::ensemble(std::function<weight_table()> vw_table, std::unique_ptr<regressor> descent,
    const std::string& members, bool has_products, size_t capacity, double memory)
    : _vw_table(std::move(vw_table))
    , _rest([this] { return own_table(); })
    , _memory(memory)
    , _share(memory > 0. ? std::exp(-1. / memory) : 1.)
    , _columns(COLUMNS_PER_FULL_ONE * capacity, memory)
    , _is_product(1, false)
    , _most_products(COLUMNS_PER_FULL_ONE * capacity / 2)
    , _mixture(1)
    , _sizes(DOUBLES_AT_ONCE, 1.)
{
  std::istringstream names(members);
  std::string name;
  bool has_gd = false;
  while (std::getline(names, name, ','))
  {
    has_gd = has_gd || name == NAME_OF_GD;
    if (name == NAME_OF_GD) { continue; }
    const auto& kind = kind_named(name);
    const bool differs = has_products || name != "main";
    if (!differs) { continue; }
    _members.emplace_back(kind, capacity, memory);
  }
  if (has_gd) { _gd = std::move(descent); }
  const size_t count = _members.size() + (has_gd ? 1 : 0);
  if (count == 0) { throw std::invalid_argument("--fastcb_members names nobody; expected at least one name."); }
  _mixture = mixture(count);
  _logits.resize(_mixture.weights().size());
}

weight_table ensemble::own_table()
{
  auto table = _vw_table();
  // With -t VW has room for the weight alone.
  constexpr uint32_t SHIFT = 2;
  table.mask = (((table.mask >> table.shift) + 1) << SHIFT) - 1;
  table.slots_apart = (table.slots_apart >> table.shift) << SHIFT;
  table.shift = SHIFT;
  if (!_numbers) { _numbers.reset(static_cast<float*>(std::calloc(table.mask + 1, sizeof(float)))); }
  if (!_numbers) { throw std::bad_alloc(); }
  table.numbers = _numbers.get();
  return table;
}

void ensemble::read(const keyed_features& features, bool admits)
{
  const auto constant = _vw_table().constant_key;
  const size_t first_product = features.count - features.products;
  _in_rest.clear();
  _in_columns.clear();
  _in_columns.reserve(features.count);
  for (uint32_t i = 0; i < features.count; ++i)
  {
    const auto key = features.keys[i];
    auto column = key == constant ? 0 : _columns.column_of(key);
    const bool is_product = i >= first_product;
    if (column == standard_columns::NOT_HERE && admits && !(is_product && _products >= _most_products))
    {
      column = _columns.admit(key);
      if (column == _is_product.size()) { note_column(is_product); }
    }
    if (column == standard_columns::NOT_HERE) { _in_rest.push_back(i); }
    else { _in_columns.push_back({static_cast<uint32_t>(column), double{features.values[i]}}); }
  }
  _columns.count_columns();
  _row.start(_columns.columns());
  for (const auto& feature : _in_columns) { _row.add(feature.column, feature.value); }
}

void ensemble::note_column(bool is_product)
{
  if (is_product) { ++_products; }
  else { _mains.push_back(static_cast<uint32_t>(_is_product.size())); }
  _is_product.push_back(is_product);
}

void ensemble::take_row()
{
  _columns.standardise(_row, _standardised);
  for (auto& member : _members) { member.take_row({_standardised, _sizes}); }
}

double ensemble::score_of_rest(const keyed_features& features, size_t slot) const
{
  if (_in_rest.empty()) { return 0.; }
  const auto table = _rest.table();
  double sum = 0.;
  for (const auto i : _in_rest) { sum += double{features.values[i]} * double{*table.at(features.keys[i], slot)}; }
  return sum;
}

// Fills in what the members say of the row at hand.
void ensemble::ask_members(const keyed_features& features, size_t slot, double initial, double logit_of_gd)
{
  for (size_t m = 0; m < _members.size(); ++m)
  {
    const auto& member = _members[m];
    _logits[m] = initial + member.score(slot, _time);
    if (member.kind().has_rest) { _logits[m] += score_of_rest(features, slot); }
  }
  if (_gd) { _logits.back() = logit_of_gd; }
}

// Of the first member: others would each have to ask a covariance of their own, and explore no better (see
// benchmarks/science/README.md).
double ensemble::deviation(const keyed_features& features, size_t slot) const
{
  if (_members.empty()) { return 0.; }
  const auto& first = _members.front();
  const double of_rest = first.kind().has_rest ? _rest.variance_of(features, _in_rest, slot) : 0.;
  return deviation_of(
      first.variance(slot, _time) + of_rest, first.variance_of_intercept(slot, _time), _columns.columns());
}

void ensemble::score(event& of, std::vector<float>& logits) { score_limits(of, 0., logits, _no_limits); }

void ensemble::score_limits(event& of, double shift, std::vector<float>& logits, std::vector<float>& limits)
{
  limits.resize(logits.size());
  if (_gd)
  {
    _gd_logits.resize(logits.size());
    _gd->score(of, _gd_logits);
  }
  const bool has_slots = of.has_slots();
  for (size_t a = 0; a < logits.size(); ++a)
  {
    const size_t line = has_slots ? 0 : a;
    const size_t slot = has_slots ? a : 0;
    const auto features = of.features(line);
    if (!has_slots || a == 0)
    {
      read(features, /*admits=*/false);
      take_row();
    }
    ask_members(features, slot, of.initial(line), _gd ? double{_gd_logits[a]} : 0.);
    logits[a] = static_cast<float>(_mixture.logit_of(_logits));
    if (shift == 0.) { continue; }
    const double moved = shift * deviation(features, slot);
    for (auto& logit : _logits) { logit += moved; }
    limits[a] = static_cast<float>(_mixture.logit_of(_logits));
  }
}

void ensemble::see(event& of, size_t chosen)
{
  if (!of.has_slots())
  {
    // Of many actions some are enough, other ones each time.
    const size_t actions = of.actions();
    const size_t rows = std::min(actions, MOST_ROWS);
    for (size_t i = 0; i < rows; ++i)
    {
      const size_t action = rows == actions ? i : (i * actions / rows + _time) % actions;
      read(of.features(action), /*admits=*/true);
      _rows.add(_row);
    }
  }
  const auto features = of.features(chosen);
  read(features, /*admits=*/true);
  if (_numbers || !_in_rest.empty()) { _rest.start(features, _in_rest, /*sums_repeated=*/true); }
  const double weight = std::min(MOST_WEIGHT, double{of.weight(chosen)});
  if (of.has_slots()) { _columns.see(_row, weight); }
  else { _columns.see(_rows.take(_columns.columns()), weight); }
  measure_sizes();
  _keys_per_name = _vw_table().keys_per_name;
  add_new_columns();
  take_row();
}

// The size of a column that is no product is its deviation compared with those of all such columns.
void ensemble::measure_sizes()
{
  const auto& squares = _columns.seen().squares();
  double sum = 0.;
  for (const auto main : _mains) { sum += squares[main]; }
  const double share = sum > 0. ? static_cast<double>(_mains.size()) / sum : 0.;
  _sizes.resize(padded(squares.size()), 0.);
  for (const auto main : _mains) { _sizes[main] = std::sqrt(squares[main] * share); }
}

void ensemble::add_new_columns()
{
  for (auto& member : _members)
  {
    for (size_t i = member.columns(); i < _columns.columns(); ++i)
    {
      member.add_column(_columns.keys()[i] / _keys_per_name, _is_product[i]);
    }
    member.count_columns();
  }
}

double ensemble::learn(event& of, size_t action, float outcome)
{
  const size_t line = of.has_slots() ? 0 : action;
  const size_t slot = of.has_slots() ? action : 0;
  see(of, line);
  const double weight = std::min(MOST_WEIGHT, double{of.weight(line)});
  for (size_t m = 0; m < _members.size(); ++m)
  {
    auto& member = _members[m];
    const bool has_rest = member.kind().has_rest;
    auto step = member.begin_step(slot, _time);
    _logits[m] = of.initial(line) + member.score(slot, _time) + (has_rest ? _rest.score(slot) : 0.);
    const double variance = step.variance + (has_rest ? _rest.variance(slot) : 0.);
    const auto length = step_towards(outcome, _logits[m], variance, weight);
    step.take(length.by, length.shrinkage);
    if (has_rest) { _rest.take_step(slot, length.by, weight * length.curvature, _share); }
  }
  if (_gd)
  {
    of.keep_logits({});  // those are the ensemble's
    _logits.back() = _gd->learn(of, action, outcome);
  }
  const double predicted = _mixture.logit_of(_logits);
  _mixture.learn(_logits, outcome, weight);
  ++_time;
  return predicted;
}

std::vector<member_weight> ensemble::members() const
{
  std::vector<member_weight> members;
  for (size_t m = 0; m < _members.size(); ++m) { members.push_back({_members[m].kind().name, _mixture.weights()[m]}); }
  if (_gd) { members.push_back({NAME_OF_GD, _mixture.weights().back()}); }
  return members;
}

double ensemble::logit_of(const keyed_features& features, size_t slot, double logit_of_gd)
{
  read(features, /*admits=*/false);
  take_row();
  ask_members(features, slot, 0., logit_of_gd);
  return _mixture.logit_of(_logits);
}

// What a term adds is how far the prediction moves where its value is 0 instead. What all together add beyond that is
// the constant's.
void ensemble::explain(std::vector<explained_term>& terms, size_t slots)
{
  const auto table = _vw_table();
  const auto constant = table.constant_key << table.shift;
  const auto is_constant = [&](const explained_term& term) { return term.index == constant; };
  if (std::none_of(terms.begin(), terms.end(), is_constant)) { terms.push_back({"", constant, 0., {}, {}}); }
  auto linear = terms;
  if (_gd) { _gd->explain(linear, slots); }
  std::vector<uint64_t> keys;
  std::vector<float> values;
  for (const auto& term : terms)
  {
    keys.push_back(term.index >> table.shift);
    values.push_back(static_cast<float>(term.value));
  }
  const keyed_features all{keys.data(), values.data(), keys.size(), 0, 0, 0, /*is_kept=*/false};
  for (size_t slot = 0; slot < slots; ++slot)
  {
    double of_gd = 0.;
    for (const auto& term : linear) { of_gd += _gd ? term.contributions[slot] : 0.; }
    const double logit = logit_of(all, slot, of_gd);
    double rest = logit;
    for (size_t i = 0; i < terms.size(); ++i)
    {
      if (is_constant(terms[i])) { continue; }
      const float value = std::exchange(values[i], 0.f);
      const double without = logit_of(all, slot, of_gd - (_gd ? linear[i].contributions[slot] : 0.));
      values[i] = value;
      const double part = logit - without;
      terms[i].contributions.push_back(part);
      terms[i].weights.push_back(value != 0.f ? part / double{value} : 0.);
      rest -= part;
    }
    const auto own = std::find_if(terms.begin(), terms.end(), is_constant);
    own->contributions.push_back(rest);
    own->weights.push_back(rest);
  }
}

void ensemble::write_table(byte_writer& out) const
{
  // VW asks for the state of learners that it is still making, too.
  const auto known = _numbers ? _rest.knowledge() : rest_weights();
  out.add(static_cast<uint64_t>(known.size()));
  for (const auto& weight : known)
  {
    out.add(weight.place);
    out.add(static_cast<float>(weight.weight));
    out.add(static_cast<float>(weight.evidence));
    out.add(static_cast<float>(weight.largest));
  }
}

void ensemble::read_table(byte_reader& in)
{
  _numbers.reset();
  const auto count = in.next<uint64_t>();
  if (count == 0) { return; }
  if (count > in.left()) { throw std::invalid_argument("the oracle's state has too many weights"); }
  const auto table = own_table();
  rest_weights known;
  for (uint64_t i = 0; i < count; ++i)
  {
    rest_weight weight{};
    weight.place = in.next<uint64_t>();
    weight.weight = double{in.next<float>()};
    weight.evidence = double{in.next<float>()};
    weight.largest = double{in.next<float>()};
    if (weight.place << table.shift > table.mask)
    {
      throw std::invalid_argument("the oracle's state has a weight too far");
    }
    known.add(weight);
  }
  _rest.take_over(known);
}

regressor_state ensemble::state()
{
  byte_writer out;
  out.add(_time);
  out.add(_keys_per_name);
  out.add(static_cast<uint64_t>(_mixture.weights().size()));
  for (const double weight : _mixture.weights()) { out.add(weight); }
  _columns.write(out);
  for (size_t i = 1; i < _columns.columns(); ++i) { out.add(static_cast<uint8_t>(_is_product[i] ? 1 : 0)); }
  for (const auto& member : _members) { member.write(out); }
  write_table(out);
  return {std::move(out.bytes), 0};
}

void ensemble::set_state(const regressor_state& state)
{
  byte_reader in(state.bytes);
  _time = in.next<uint64_t>();
  _keys_per_name = std::max(uint64_t{1}, in.next<uint64_t>());
  if (in.next<uint64_t>() != _mixture.weights().size())
  {
    throw std::invalid_argument("the model has other members than --fastcb_members names; leave that flag out");
  }
  auto weights = _mixture.weights();
  for (auto& weight : weights) { weight = in.next<double>(); }
  _mixture.set_weights(std::move(weights));
  _columns.read(in);
  _is_product.assign(1, false);
  _mains.clear();
  _products = 0;
  for (size_t i = 1; i < _columns.columns(); ++i) { note_column(in.next<uint8_t>() != 0); }
  for (auto& member : _members) { member = second_order_member(member.kind(), member.capacity(), _memory); }
  measure_sizes();
  add_new_columns();
  for (auto& member : _members) { member.read(in); }
  read_table(in);
  if (!in.at_end()) { throw std::invalid_argument("the oracle's state goes on after its end"); }
}

void ensemble::continue_from(const regressor& other)
{
  const auto& from = static_cast<const ensemble&>(other);
  const auto by = _vw_table().keys_per_name;
  const auto over = from._vw_table().keys_per_name;
  _time = from._time;
  _mixture = from._mixture;
  _columns = from._columns;
  _columns.multiply_keys(by, over);
  _keys_per_name = by;
  _is_product = from._is_product;
  _mains = from._mains;
  _products = from._products;
  _members = from._members;
  measure_sizes();
  if (!from._numbers) { return; }
  rest_weights moved;
  for (auto weight : from._rest.knowledge())
  {
    weight.place = weight.place / over * by + weight.place % over;
    moved.add(weight);
  }
  _rest.take_over(moved);
}

namespace
{
[[noreturn]] void refuse_merging()
{
  throw std::invalid_argument(
      "models of --fastcb_oracle ensemble cannot be merged. Train one model on all of the data, or the parts with "
      "--fastcb_oracle newton or gd, whose models can be.");
}
}  // namespace

void ensemble::merge(const std::vector<const regressor*>& models)
{
  if (!models.empty()) { refuse_merging(); }
}
void ensemble::become_difference(const regressor&, const regressor&) { refuse_merging(); }
void ensemble::become_sum(const regressor&, const regressor&) { refuse_merging(); }
}  // namespace vw_fastcb

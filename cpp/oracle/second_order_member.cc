#include "second_order_member.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace vw_fastcb
{
namespace
{
// By evidence; see benchmarks/science/README.md. A prior is the precision of a weight before anything was seen.
constexpr double PRIOR_OF_INTERCEPT = .25;
constexpr double PRIOR = 2.;
constexpr double PRIOR_PER_COLUMN = .1;
constexpr double PRIOR_OF_RANDOM = 1.;
constexpr double PRIOR_OF_RANDOM_PER_COLUMN = .1;
}  // namespace

second_order_member::second_order_member(const member_kind& kind, size_t capacity, double memory)
    : _kind(kind)
    , _capacity(capacity)
    , _first(kind.is_curved ? 1 + random_features::COUNT : 1)
    , _next_full(_first)
    , _next_alone(padded(_first + capacity))
    , _is_product(_first, false)
    , _priors(1, PRIOR_OF_INTERCEPT)
{
  const bool forgets_sooner = kind.memory > 0. && (memory == 0. || kind.memory < memory);
  const double own_memory = forgets_sooner ? kind.memory : memory;
  _share = own_memory > 0. ? std::exp(-1. / own_memory) : 1.;
}

void second_order_member::add_column(uint64_t name, bool is_product)
{
  const size_t column = _columns++;
  if (is_product && !_kind.reads_products) { return; }
  // Products, of which there are many, leave room for features that come later.
  const bool has_room = _next_full < _first + _capacity && !(is_product && 2 * _full_products >= _capacity);
  const size_t place = has_room ? _next_full++ : _next_alone++;
  if (is_product && has_room) { ++_full_products; }
  if (!is_product) { ++_mains; }
  ++_known;
  if (_kind.is_curved && has_room)
  {
    _curved.push_back(static_cast<uint32_t>(column));
    _random.add_column(name);
  }
  auto& last = _runs.back();
  if (column == last.column + last.count && place == last.place + last.count) { ++last.count; }
  else { _runs.push_back({column, place, 1}); }
  if (_is_product.size() <= place) { _is_product.resize(place + 1, false); }
  _is_product[place] = is_product;
}

void second_order_member::count_columns()
{
  if (_priors.size() == _is_product.size()) { return; }
  // Products must not make what is known of the features themselves less.
  const double of_main = PRIOR + PRIOR_PER_COLUMN * static_cast<double>(_mains);
  const double of_product = PRIOR + PRIOR_PER_COLUMN * static_cast<double>(_known);
  const double of_random = PRIOR_OF_RANDOM + PRIOR_OF_RANDOM_PER_COLUMN * static_cast<double>(_curved.size());
  for (size_t place = _priors.size(); place < _is_product.size(); ++place)
  {
    _priors.push_back(place < _first ? of_random : _is_product[place] ? of_product : of_main);
  }
}

void second_order_member::take_row(const shared_row& row)
{
  // What lies between the runs stays 0.
  if (_row.size() != padded(_priors.size())) { _row.assign(padded(_priors.size()), 0.); }
  for (const auto& run : _runs)
  {
    const double* const from = row.standardised.data() + run.column;
    double* const to = _row.data() + run.place;
    std::copy_n(from, run.count, to);
    if (!_kind.keeps_sizes) { continue; }
    const double* const sizes = row.sizes.data() + run.column;
    for (size_t i = 0; i < run.count; ++i) { to[i] *= sizes[i]; }
  }
  if (!_kind.is_curved || _row.size() <= _first) { return; }
  _curved_row.resize(_curved.size());
  for (size_t i = 0; i < _curved.size(); ++i) { _curved_row[i] = row.standardised[_curved[i]]; }
  _random.of(_curved_row.data(), _row.data() + 1);
}

double second_order_member::kept_since(uint64_t then, uint64_t time) const
{
  return _share < 1. && time > then ? std::pow(_share, static_cast<double>(time - then)) : 1.;
}

double second_order_member::score(size_t slot, uint64_t time) const
{
  if (slot >= _slots.size()) { return 0.; }
  const auto& own = _slots[slot];
  const double kept = kept_since(own.time, time);
  return kept < 1. ? own.weights.score_after(kept, _priors, _row.data()) : own.weights.score(_row.data());
}

double second_order_member::variance(size_t slot, uint64_t time) const
{
  double sum = 0.;
  size_t known = 0;
  if (slot < _slots.size() && _slots[slot].weights.columns() > 0)
  {
    const auto& own = _slots[slot];
    const double kept = kept_since(own.time, time);
    known = own.weights.columns();
    sum = kept < 1. ? own.weights.variance_after(kept, _priors, _row.data()) : own.weights.variance_of(_row.data());
  }
  for (size_t i = known; i < _priors.size(); ++i) { sum += _row[i] * _row[i] / _priors[i]; }
  return sum;
}

double second_order_member::variance_of_intercept(size_t slot, uint64_t time) const
{
  if (slot >= _slots.size() || _slots[slot].weights.columns() == 0) { return 1. / _priors[0]; }
  const auto& own = _slots[slot];
  return own.weights.own_variance_after(kept_since(own.time, time), _priors, 0);
}

newton_step second_order_member::begin_step(size_t slot, uint64_t time)
{
  if (slot >= _slots.size()) { _slots.resize(slot + 1); }
  auto& own = _slots[slot];
  own.weights.grow(_priors, _first + _capacity);
  const double kept = kept_since(own.time, time);
  if (kept < 1.) { own.weights.forget(kept, _priors); }
  own.time = time + 1;
  return own.weights.begin_step(_row.data());
}

void second_order_member::write(byte_writer& out) const
{
  out.add(static_cast<uint64_t>(_priors.size()));
  for (const double prior : _priors) { out.add(prior); }
  out.add(static_cast<uint64_t>(_slots.size()));
  for (const auto& own : _slots)
  {
    out.add(own.time);
    own.weights.write(out);
  }
}

void second_order_member::read(byte_reader& in)
{
  const auto places = in.next<uint64_t>();
  if (places != _is_product.size() && places != 1)
  {
    throw std::invalid_argument("a member of the oracle has other columns than its state");
  }
  _priors.resize(places);
  for (auto& prior : _priors) { prior = in.next<double>(); }
  const auto slots = in.next<uint64_t>();
  if (slots > in.left()) { throw std::invalid_argument("the oracle's state has too many slots"); }
  _slots.assign(slots, {});
  for (auto& own : _slots)
  {
    own.time = in.next<uint64_t>();
    own.weights.read(in, _priors, _first + _capacity);
  }
}
}  // namespace vw_fastcb

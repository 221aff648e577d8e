#include "newton_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace vw_fastcb
{
namespace
{
// By evidence; see benchmarks/science/README.md.
constexpr double PRIOR_OF_INTERCEPT = 1.;
constexpr double PRIOR = 2.;
constexpr double PRIOR_PER_COLUMN = .1;
constexpr size_t FEATURES_PER_FULL_ONE = 16;
constexpr double FARTHEST = 5.;  // deviations from the mean that a value may seem to be away

class byte_writer
{
public:
  template <typename Number>
  void add(Number number)
  {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  std::string bytes;
};

class byte_reader
{
public:
  explicit byte_reader(const std::string& bytes) : _bytes(bytes) {}
  template <typename Number>
  Number next()
  {
    Number number;
    if (_bytes.size() - _at < sizeof(number)) { throw std::invalid_argument("the oracle's state is cut short"); }
    std::memcpy(&number, _bytes.data() + _at, sizeof(number));
    _at += sizeof(number);
    return number;
  }
  bool at_end() const { return _at == _bytes.size(); }
  size_t left() const { return _bytes.size() - _at; }

private:
  const std::string& _bytes;
  size_t _at = 0;
};
}  // namespace

newton_block::newton_block(size_t capacity, double memory)
    : _capacity(capacity)
    , _most(FEATURES_PER_FULL_ONE * capacity)
    , _share(memory > 0. ? std::exp(-1. / memory) : 1.)
    , _keys(1, NO_KEY)
    , _priors(1, PRIOR_OF_INTERCEPT)
{
  count_columns();
}

size_t newton_block::column_of(uint64_t key) const
{
  const auto found = _column_of.find(key);
  return found == _column_of.end() ? NOT_HERE : found->second;
}

size_t newton_block::admit(uint64_t key)
{
  const auto known = column_of(key);
  if (known != NOT_HERE || is_full()) { return known; }
  if (_keys.size() == _capacity + 1) { _keys.resize(padded(_capacity + 1), NO_KEY); }
  _keys.push_back(key);
  return _column_of[key] = _keys.size() - 1;
}

void newton_block::multiply_keys(uint64_t by, uint64_t over)
{
  _column_of.clear();
  for (size_t i = 0; i < _keys.size(); ++i)
  {
    if (_keys[i] == NO_KEY) { continue; }
    _keys[i] = _keys[i] / over * by;
    _column_of[_keys[i]] = i;
  }
}

void newton_block::count_columns()
{
  const auto features = static_cast<double>(_column_of.size());
  _priors.resize(columns(), PRIOR + PRIOR_PER_COLUMN * features);
  _seen.resize(columns());
  _centres.resize(padded(columns()), 0.);
  _scales.resize(padded(columns()), 0.);
  refresh_scales();
}

void newton_block::refresh_scales()
{
  std::copy(_seen.means().begin(), _seen.means().end(), _centres.begin());
  _seen.scales(_scales.data());
  _centres[0] = 0.;
  _scales[0] = 1.;
}

void newton_block::standardise(std::vector<double>& row) const
{
  double* const values = row.data();
  const double* const centres = _centres.data();
  const double* const scales = _scales.data();
  for (size_t i = 0, count = row.size(); i < count; ++i)
  {
    const double away = (values[i] - centres[i]) * scales[i];
    const double least = away < -FARTHEST ? -FARTHEST : away;
    values[i] = least > FARTHEST ? FARTHEST : least;
  }
}

double newton_block::standardised(size_t column, double value) const
{
  return std::clamp((value - _centres[column]) * _scales[column], -FARTHEST, FARTHEST);
}

double newton_block::score(size_t slot, const std::vector<double>& row) const
{
  return slot < _slots.size() ? _slots[slot].score(row.data()) : 0.;
}

void newton_block::see(const double* row, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(row, weight);
  refresh_scales();
}

void newton_block::see(const moments& rows, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(rows, weight);
  refresh_scales();
}

double newton_block::variance(size_t slot, const std::vector<double>& row)
{
  if (slot >= _slots.size()) { _slots.resize(slot + 1); }
  auto& weights = _slots[slot];
  weights.grow(_priors, _capacity + 1);
  if (_share < 1.) { weights.fade(_share, _priors); }
  return weights.variance(row.data());
}

double newton_block::raw_weight(size_t slot, size_t column) const
{
  if (slot >= _slots.size() || column >= _slots[slot].columns()) { return 0.; }
  const auto& weights = _slots[slot];
  if (column > 0) { return weights.weight(column) * _scales[column]; }
  double intercept = weights.weight(0);
  for (size_t i = 1; i < weights.columns(); ++i) { intercept -= weights.weight(i) * _scales[i] * _centres[i]; }
  return intercept;
}

double newton_block::part_of_score(size_t slot, size_t column, double value) const
{
  if (slot >= _slots.size() || column >= _slots[slot].columns()) { return 0.; }
  return _slots[slot].weight(column) * (standardised(column, value) - standardised(column, 0.));
}

double newton_block::score_of_zeros(size_t slot) const
{
  if (slot >= _slots.size()) { return 0.; }
  double sum = 0.;
  for (size_t i = 1; i < _slots[slot].columns(); ++i) { sum += _slots[slot].weight(i) * standardised(i, 0.); }
  return sum;
}

std::string newton_block::bytes() const
{
  byte_writer out;
  out.add(static_cast<uint64_t>(_column_of.size()));
  out.add(static_cast<uint64_t>(_slots.size()));
  out.add(_seen.weight);
  for (const auto key : _keys)
  {
    if (key != NO_KEY) { out.add(key); }
  }
  for (size_t i = 0; i < columns(); ++i)
  {
    out.add(_priors[i]);
    out.add(_seen.means()[i]);
    out.add(_seen.squares()[i]);
  }
  for (const auto& weights : _slots)
  {
    out.add(static_cast<uint64_t>(weights.columns()));
    for (size_t i = 0; i < weights.columns(); ++i)
    {
      out.add(weights.weight(i));
      if (i >= weights.full()) { out.add(weights.variance(i)); }
      for (size_t j = 0; i < weights.full() && j <= i; ++j) { out.add(weights.covariance(i, j)); }
    }
  }
  return std::move(out.bytes);
}

void newton_block::set_bytes(const std::string& bytes)
{
  byte_reader in(bytes);
  newton_block read(_capacity, 0.);
  read._share = _share;
  const auto features = in.next<uint64_t>();
  const auto slots = in.next<uint64_t>();
  if (features >= bytes.size() || slots >= bytes.size())
  {
    throw std::invalid_argument("the oracle's state is of another size");
  }
  read._seen.weight = in.next<double>();
  read._most = SIZE_MAX;  // a merged one may have more
  for (uint64_t i = 0; i < features; ++i) { read.admit(in.next<uint64_t>()); }
  read._most = _most;
  if (read._column_of.size() != features) { throw std::invalid_argument("the oracle's state has a feature twice"); }
  read.count_columns();
  for (size_t i = 0; i < read.columns(); ++i)
  {
    read._priors[i] = in.next<double>();
    const auto mean = in.next<double>();
    read._seen.set_column(i, mean, in.next<double>());
  }
  read.refresh_scales();
  read._slots.resize(slots);
  for (auto& weights : read._slots)
  {
    const auto columns = in.next<uint64_t>();
    if (columns > read.columns()) { throw std::invalid_argument("the oracle's state has too many weights"); }
    weights.grow({read._priors.begin(), read._priors.begin() + static_cast<std::ptrdiff_t>(columns)}, _capacity + 1);
    for (size_t i = 0; i < columns; ++i)
    {
      weights.set_weight(i, in.next<double>());
      if (i >= weights.full()) { weights.set_variance(i, in.next<double>()); }
      for (size_t j = 0; i < weights.full() && j <= i; ++j) { weights.set_covariance(i, j, in.next<double>()); }
    }
  }
  if (!in.at_end()) { throw std::invalid_argument("the oracle's state goes on after its end"); }
  *this = std::move(read);
}
}  // namespace vw_fastcb

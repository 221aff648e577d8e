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

double clipped(double away)
{
  const double least = away < -FARTHEST ? -FARTHEST : away;
  return least > FARTHEST ? FARTHEST : least;
}

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

size_t newton_block::admit(uint64_t key)
{
  const auto known = column_of(key);
  if (known != NOT_HERE || is_full()) { return known; }
  if (_keys.size() == _capacity + 1) { _keys.resize(padded(_capacity + 1), NO_KEY); }
  _column_of.insert(key, _keys.size());
  _keys.push_back(key);
  return _keys.size() - 1;
}

void newton_block::multiply_keys(uint64_t by, uint64_t over)
{
  _column_of.clear();
  for (size_t i = 0; i < _keys.size(); ++i)
  {
    if (_keys[i] == NO_KEY) { continue; }
    _keys[i] = _keys[i] / over * by;
    _column_of.insert(_keys[i], i);
  }
}

void newton_block::count_columns()
{
  if (_priors.size() == columns() && _zeros.size() == padded(columns())) { return; }
  const auto features = static_cast<double>(_column_of.size());
  _priors.resize(columns(), PRIOR + PRIOR_PER_COLUMN * features);
  _seen.resize(columns());
  _centres.resize(padded(columns()), 0.);
  _scales.resize(padded(columns()), 0.);
  _zeros.resize(padded(columns()), 0.);
  refresh_scales();
}

void newton_block::refresh_scales()
{
  std::copy(_seen.means().begin(), _seen.means().end(), _centres.begin());
  _seen.scales(_scales.data());
  _centres[0] = 0.;
  _scales[0] = 1.;
  double* const zeros = _zeros.data();
  const double* const centres = _centres.data();
  const double* const scales = _scales.data();
  for (size_t i = 0, count = _zeros.size(); i < count; ++i) { zeros[i] = clipped(-centres[i] * scales[i]); }
  _scores_of_zeros.clear();
}

void newton_block::standardise(const column_row& row, std::vector<double>& standardised) const
{
  standardised.resize(padded(columns()));
  double* const to = standardised.data();
  const double* const values = row.values();
  const double* const centres = _centres.data();
  const double* const scales = _scales.data();
  for (size_t i = 0, count = standardised.size(); i < count; ++i)
  {
    to[i] = clipped((values[i] - centres[i]) * scales[i]);
  }
}

double newton_block::standardised(size_t column, double value) const
{
  return clipped((value - _centres[column]) * _scales[column]);
}

double newton_block::score(size_t slot, const std::vector<double>& standardised) const
{
  return slot < _slots.size() ? _slots[slot].score(standardised.data()) : 0.;
}

double newton_block::score(size_t slot, const column_row& row)
{
  constexpr size_t COLUMNS_AT_THE_COST_OF_ONE = 8;  // where all are standardised, whole registers at a time
  if (slot >= _slots.size()) { return 0.; }
  const auto& present = row.present();
  if (present.size() * COLUMNS_AT_THE_COST_OF_ONE > columns())
  {
    standardise(row, _standardised);
    return _slots[slot].score(_standardised.data());
  }
  const auto& weights = _slots[slot];
  double sum = known_score_of_zeros(slot);
  for (const auto column : present)
  {
    if (column >= weights.columns()) { continue; }  // it has learned nothing there yet
    sum += weights.weight(column) * (standardised(column, row.values()[column]) - _zeros[column]);
  }
  return sum;
}

double newton_block::known_score_of_zeros(size_t slot)
{
  if (slot >= _scores_of_zeros.size()) { _scores_of_zeros.resize(slot + 1, std::nan("")); }
  auto& known = _scores_of_zeros[slot];
  if (std::isnan(known)) { known = _slots[slot].score(_zeros.data()); }
  return known;
}

void newton_block::see(const column_row& row, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(row.values(), weight);
  refresh_scales();
}

void newton_block::see(const moments& rows, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(rows, weight);
  refresh_scales();
}

newton_step newton_block::begin_step(size_t slot, const std::vector<double>& standardised)
{
  if (slot >= _slots.size()) { _slots.resize(slot + 1); }
  if (slot < _scores_of_zeros.size()) { _scores_of_zeros[slot] = std::nan(""); }
  auto& weights = _slots[slot];
  weights.grow(_priors, _capacity + 1);
  if (_share < 1.) { weights.fade(_share, _priors); }
  return weights.begin_step(standardised.data());
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
  return _slots[slot].score(_zeros.data());
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

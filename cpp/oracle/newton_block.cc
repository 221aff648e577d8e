#include "newton_block.h"

#include <algorithm>
#include <cmath>
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
}  // namespace

newton_block::newton_block(size_t capacity, double memory)
    : standard_columns(FEATURES_PER_FULL_ONE * capacity, memory)
    , _capacity(capacity)
    , _priors(1, PRIOR_OF_INTERCEPT)
{
}

size_t newton_block::admit(uint64_t key)
{
  const bool is_new = column_of(key) == NOT_HERE && !is_full();
  if (is_new && _keys.size() == _capacity + 1) { _keys.resize(padded(_capacity + 1), NO_KEY); }
  return standard_columns::admit(key);
}

void newton_block::count_columns()
{
  if (_priors.size() != columns()) { _scores_of_zeros.clear(); }
  _priors.resize(columns(), PRIOR + PRIOR_PER_COLUMN * static_cast<double>(features()));
  standard_columns::count_columns();
}

void newton_block::see(const column_row& row, double weight)
{
  standard_columns::see(row, weight);
  _scores_of_zeros.clear();
}

void newton_block::see(const moments& rows, double weight)
{
  standard_columns::see(rows, weight);
  _scores_of_zeros.clear();
}

double newton_block::score(size_t slot, const std::vector<double>& standardised) const
{
  return slot < _slots.size() ? _slots[slot].score(standardised.data()) : 0.;
}

double newton_block::variance(size_t slot, const std::vector<double>& standardised) const
{
  const size_t known = slot < _slots.size() ? _slots[slot].columns() : 0;
  double sum = known > 0 ? _slots[slot].variance_of(standardised.data()) : 0.;
  for (size_t i = known; i < columns(); ++i) { sum += standardised[i] * standardised[i] / _priors[i]; }
  return sum;
}

double newton_block::variance_of_intercept(size_t slot) const
{
  const bool is_known = slot < _slots.size() && _slots[slot].columns() > 0;
  return is_known ? _slots[slot].covariance(0, 0) : 1. / _priors[0];
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
  for (const auto& weights : _slots) { weights.write(out); }
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
  for (auto& weights : read._slots) { weights.read(in, read._priors, _capacity + 1); }
  if (!in.at_end()) { throw std::invalid_argument("the oracle's state goes on after its end"); }
  *this = std::move(read);
}
}  // namespace vw_fastcb

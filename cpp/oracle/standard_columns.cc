#include "standard_columns.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace vw_fastcb
{
namespace
{
constexpr double FARTHEST = 5.;  // deviations from the mean that a value may seem to be away

double clipped(double away)
{
  const double least = away < -FARTHEST ? -FARTHEST : away;
  return least > FARTHEST ? FARTHEST : least;
}
}  // namespace

standard_columns::standard_columns(size_t most, double memory)
    : _most(most)
    , _share(memory > 0. ? std::exp(-1. / memory) : 1.)
    , _keys(1, NO_KEY)
{
  count_columns();
}

size_t standard_columns::admit(uint64_t key)
{
  const auto known = column_of(key);
  if (known != NOT_HERE || is_full()) { return known; }
  _column_of.insert(key, _keys.size());
  _keys.push_back(key);
  return _keys.size() - 1;
}

void standard_columns::multiply_keys(uint64_t by, uint64_t over)
{
  _column_of.clear();
  for (size_t i = 0; i < _keys.size(); ++i)
  {
    if (_keys[i] == NO_KEY) { continue; }
    _keys[i] = _keys[i] / over * by;
    _column_of.insert(_keys[i], i);
  }
}

void standard_columns::count_columns()
{
  if (_seen.columns() == columns() && _zeros.size() == padded(columns())) { return; }
  _seen.resize(columns());
  _centres.resize(padded(columns()), 0.);
  _scales.resize(padded(columns()), 0.);
  _zeros.resize(padded(columns()), 0.);
  refresh_scales();
}

void standard_columns::refresh_scales()
{
  std::copy(_seen.means().begin(), _seen.means().end(), _centres.begin());
  _seen.scales(_scales.data());
  _centres[0] = 0.;
  _scales[0] = 1.;
  double* const zeros = _zeros.data();
  const double* const centres = _centres.data();
  const double* const scales = _scales.data();
  for (size_t i = 0, count = _zeros.size(); i < count; ++i) { zeros[i] = clipped(-centres[i] * scales[i]); }
}

void standard_columns::standardise(const column_row& row, std::vector<double>& standardised) const
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

double standard_columns::standardised(size_t column, double value) const
{
  return clipped((value - _centres[column]) * _scales[column]);
}

void standard_columns::see(const column_row& row, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(row.values(), weight);
  refresh_scales();
}

void standard_columns::write(byte_writer& out) const
{
  out.add(static_cast<uint64_t>(columns()));
  out.add(_seen.weight);
  for (size_t i = 1; i < columns(); ++i)
  {
    out.add(_keys[i]);
    out.add(_seen.means()[i]);
    out.add(_seen.squares()[i]);
  }
}

void standard_columns::read(byte_reader& in)
{
  const auto columns = in.next<uint64_t>();
  if (columns == 0 || columns > _most + 1) { throw std::invalid_argument("the oracle's state has too many columns"); }
  standard_columns read(_most, 0.);
  read._share = _share;
  read._seen.weight = in.next<double>();
  read._seen.resize(columns);
  for (uint64_t i = 1; i < columns; ++i)
  {
    if (read.admit(in.next<uint64_t>()) != i) { throw std::invalid_argument("the oracle's state has a feature twice"); }
    const auto mean = in.next<double>();
    read._seen.set_column(i, mean, in.next<double>());
  }
  read.count_columns();
  read.refresh_scales();
  *this = std::move(read);
}

void standard_columns::see(const moments& rows, double weight)
{
  if (_share < 1.) { _seen.fade(_share); }
  _seen.add(rows, weight);
  refresh_scales();
}
}  // namespace vw_fastcb

#include "column_row.h"

#include <algorithm>

namespace vw_fastcb
{
// Welford's algorithm, over the rows that have a column.
void row_moments::add(const column_row& row)
{
  if (_rows == 0.)
  {
    _are_alike = true;
    _common = row.present();
  }
  else if (_are_alike && row.present() != _common) { end_alike(); }
  _rows += 1.;
  if (_are_alike)
  {
    add_alike(row);
    return;
  }
  for (const auto column : row.present())
  {
    if (column >= _sums.size()) { _sums.resize(column + 1); }
    auto& sums = _sums[column];
    if (sums.count == 0.) { _touched.push_back(column); }
    const double value = row.values()[column];
    const double distance = value - sums.mean;
    sums.count += 1.;
    sums.mean += distance / sums.count;
    sums.squares += distance * (value - sums.mean);
  }
}

// The same numbers to the last bit, several columns at a time.
void row_moments::add_alike(const column_row& row)
{
  const size_t count = _common.size();
  const double* const values = row.values();
  if (_rows == 1.)
  {
    _means.resize(count);
    _squares.assign(count, 0.);
    for (size_t i = 0; i < count; ++i) { _means[i] = values[_common[i]]; }
    return;
  }
  _row.resize(count);
  double* const own = _row.data();
  const uint32_t* const column = _common.data();
  for (size_t i = 0; i < count; ++i) { own[i] = values[column[i]]; }
  double* const means = _means.data();
  double* const squares = _squares.data();
  const double rows = _rows;
  for (size_t i = 0; i < count; ++i)
  {
    const double distance = own[i] - means[i];
    const double mean = means[i] + distance / rows;
    means[i] = mean;
    squares[i] += distance * (own[i] - mean);
  }
}

// A row has other columns: each column counts by itself from here on.
void row_moments::end_alike()
{
  _are_alike = false;
  for (size_t i = 0; i < _common.size(); ++i)
  {
    const auto column = _common[i];
    if (column >= _sums.size()) { _sums.resize(column + 1); }
    _sums[column] = {_rows, _means[i], _squares[i]};
    _touched.push_back(column);
  }
}

// The rows that lack a column have a 0 there; Chan's formula puts the two kinds together.
const moments& row_moments::take(size_t columns)
{
  for (const auto column : _set) { _together.set_column(column, 0., 0.); }
  _together.resize(std::max(columns, _together.columns()));
  _together.weight = _rows;
  if (_are_alike && _rows > 0.)
  {
    for (size_t i = 0; i < _common.size(); ++i) { _together.set_column(_common[i], _means[i], _squares[i]); }
    _set = _common;
    _rows = 0.;
    return _together;
  }
  for (const auto column : _touched)
  {
    auto& sums = _sums[column];
    const double share = sums.count / _rows;
    const double absent = _rows - sums.count;
    _together.set_column(column, sums.mean * share, sums.squares + sums.mean * sums.mean * absent * share);
    sums = {};
  }
  _set.swap(_touched);
  _touched.clear();
  _rows = 0.;
  return _together;
}
}  // namespace vw_fastcb

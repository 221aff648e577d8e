#include "column_row.h"

#include <algorithm>

namespace vw_fastcb
{
// Welford's algorithm, over the rows that have a column.
void row_moments::add(const column_row& row)
{
  _rows += 1.;
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

// The rows that lack a column have a 0 there; Chan's formula puts the two kinds together.
const moments& row_moments::take(size_t columns)
{
  for (const auto column : _set) { _together.set_column(column, 0., 0.); }
  _together.resize(std::max(columns, _together.columns()));
  _together.weight = _rows;
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

// The raw values of a row by column, most of which an event may lack; and what many such rows are together.
#pragma once

#include "moments.h"
#include "newton_weights.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class column_row
{
public:
  // Begins a row without values, of so many columns.
  void start(size_t columns)
  {
    for (const auto column : _present)
    {
      _values[column] = 0.;
      _is_present[column] = 0;
    }
    _present.clear();
    make_room(columns);
  }

  // Columns that were added meanwhile.
  void make_room(size_t columns)
  {
    if (_values.size() >= columns) { return; }
    _values.resize(padded(columns), 0.);
    _is_present.resize(padded(columns), 0);
  }

  // A column's values add up. Returns whether this is its first.
  bool add(size_t column, double value)
  {
    const bool is_first = _is_present[column] == 0;
    if (is_first)
    {
      _is_present[column] = 1;
      _present.push_back(static_cast<uint32_t>(column));
    }
    _values[column] += value;
    return is_first;
  }

  // All values of a row, in columns that differ from each other: values[places[i]] in columns[i].
  void set(const std::vector<uint32_t>& columns, const std::vector<uint32_t>& places, const float* values)
  {
    _present = columns;
    for (size_t i = 0; i < columns.size(); ++i)
    {
      _is_present[columns[i]] = 1;
      _values[columns[i]] = double{values[places[i]]};
    }
  }

  const std::vector<uint32_t>& present() const { return _present; }
  const double* values() const { return _values.data(); }  // of all columns, padded

private:
  std::vector<double> _values;
  std::vector<char> _is_present;
  std::vector<uint32_t> _present;
};

// The means and squares of some rows, at the cost of the values that are present.
class row_moments
{
public:
  void add(const column_row& row);

  // Those of all rows since the last call. Columns that no row has are 0.
  const moments& take(size_t columns);

private:
  struct column_sums
  {
    double count = 0.;  // of the rows that have it
    double mean = 0.;
    double squares = 0.;
  };

  std::vector<column_sums> _sums;
  std::vector<size_t> _touched;
  double _rows = 0.;
  moments _together;
  std::vector<size_t> _set;  // the columns of _together that are not 0
};
}  // namespace vw_fastcb

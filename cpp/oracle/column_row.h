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

  // A whole row of so many columns at once, with values[places[i]] in present[i], which differ from each other. It
  // costs least where the row before had the same ones.
  void set(
      size_t columns, const std::vector<uint32_t>& present, const std::vector<uint32_t>& places, const float* values)
  {
    if (_present != present)
    {
      start(columns);
      _present = present;
      for (const auto column : present) { _is_present[column] = 1; }
    }
    make_room(columns);
    const uint32_t* const column = present.data();
    const uint32_t* const place = places.data();
    double* const to = _values.data();
    for (size_t i = 0, count = present.size(); i < count; ++i) { to[column[i]] = double{values[place[i]]}; }
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
  // Rows that all have the same columns, as those of most events do.
  void add_alike(const column_row& row);
  void end_alike();

  struct column_sums
  {
    double count = 0.;  // of the rows that have it
    double mean = 0.;
    double squares = 0.;
  };

  std::vector<column_sums> _sums;
  std::vector<uint32_t> _touched;
  double _rows = 0.;
  bool _are_alike = false;        // so far; then what follows counts, in the place of _sums
  std::vector<uint32_t> _common;  // the columns of rows that are alike
  std::vector<double> _means;     // of these columns, as the next
  std::vector<double> _squares;
  std::vector<double> _row;  // the one at hand
  moments _together;
  std::vector<uint32_t> _set;  // the columns of _together that are not 0
};
}  // namespace vw_fastcb

// A matrix of features as numpy or scipy hold it, read row by row in place. Four forms: dense with any strides, or
// compressed sparse rows, whose columns are looked up among VW's weights, or lie there one after another; or sparse
// rows that say themselves where each value lies. Zeros are not features, as in VW's text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace vw_fastcb
{
class feature_rows
{
public:
  feature_rows() = default;

  // `index_of_column` says where each column lies among VW's weights.
  static feature_rows dense(const void* data, bool doubles, size_t rows, size_t columns, ptrdiff_t row_bytes,
      ptrdiff_t column_bytes, const uint64_t* index_of_column)
  {
    feature_rows matrix(data, doubles, rows);
    matrix._columns = columns;
    matrix._row_bytes = row_bytes;
    matrix._column_bytes = column_bytes;
    matrix._index_of_column = index_of_column;
    return matrix;
  }

  // `offsets` has rows + 1 entries; the values of row r and their columns lie from offsets[r] to offsets[r + 1].
  static feature_rows sparse(const void* data, bool doubles, size_t rows, const int64_t* offsets,
      const int64_t* column_of, const uint64_t* index_of_column)
  {
    feature_rows matrix(data, doubles, rows);
    matrix._offsets = offsets;
    matrix._column_of = column_of;
    matrix._index_of_column = index_of_column;
    return matrix;
  }

  // As sparse rows; column j lies at (first_hash + j) & mask. Hashes have 32 bits, and columns 64 bits or 32.
  static feature_rows sparse_in_line(const void* data, bool doubles, size_t rows, const int64_t* offsets,
      const void* column_of, bool wide_columns, uint32_t first_hash, uint64_t mask)
  {
    feature_rows matrix(data, doubles, rows);
    matrix._offsets = offsets;
    (wide_columns ? matrix._wide_column : matrix._narrow_column) = column_of;
    matrix._first_hash = first_hash;
    matrix._mask = mask;
    return matrix;
  }

  // As sparse rows, with the place among VW's weights of each value.
  static feature_rows placed(const float* values, size_t rows, const int64_t* offsets, const uint64_t* index_of)
  {
    feature_rows matrix(values, /*doubles=*/false, rows);
    matrix._offsets = offsets;
    matrix._index_of = index_of;
    return matrix;
  }

  size_t rows() const { return _rows; }

  // One of the rows by itself.
  feature_rows one(size_t row) const
  {
    feature_rows alone = *this;
    alone._rows = 1;
    if (_offsets != nullptr) { alone._offsets += row; }
    else { alone._data += static_cast<ptrdiff_t>(row) * _row_bytes; }
    return alone;
  }

  // How many values a row may have.
  size_t width(size_t row) const
  {
    return _offsets != nullptr ? static_cast<size_t>(_offsets[row + 1] - _offsets[row]) : _columns;
  }

  // Calls visit(index, value) for every value of a row that is not zero.
  template <typename Visit>
  void for_each(size_t row, Visit visit) const
  {
    for_each_or_zero(row,
        [&visit](uint64_t index, float value)
        {
          if (value != 0.f) { visit(index, value); }
        });
  }

  // Calls visit(index, value) for every value of a row that is held, zeros among them.
  template <typename Visit>
  void for_each_or_zero(size_t row, Visit visit) const
  {
    if (_doubles) { visit_row<double>(row, visit); }
    else { visit_row<float>(row, visit); }
  }

  // Brings the start of a row near; what follows it, processors bring by themselves. Rows in random order come from far
  // away: fetched one after the other, they are waited for together. (A prefetch instruction is no help: where the page
  // is not known, either, it is dropped.)
  void fetch(size_t row) const
  {
    const size_t size = _doubles ? sizeof(double) : sizeof(float);
    const size_t bytes = std::min<size_t>(width(row) * size, 512);
    if (bytes == 0) { return; }
    const char* start = _offsets != nullptr ? _data + static_cast<size_t>(_offsets[row]) * size
                                            : _data + static_cast<ptrdiff_t>(row) * _row_bytes;
    for (size_t at = 0; at < bytes; at += 64) { read(start + at); }
    read(start + bytes - 1);  // a row need not begin where a line of the cache does
  }

  // Reads a byte for the sake of the cache.
  static void read(const void* byte) { (void)*static_cast<const volatile char*>(byte); }

  // Whether every value is a finite number in single precision.
  bool finite() const;

  // Of dense rows: all values in single precision, one after another, and whether they are the same as others.
  void copy_to(float* out) const;
  bool equals(const float* others) const;

private:
  friend class row_span;

  feature_rows(const void* data, bool doubles, size_t rows)
      : _data(static_cast<const char*>(data))
      , _doubles(doubles)
      , _rows(rows)
  {
  }

  // Calls work(values, distance between two) with the values of a dense row.
  template <typename Work>
  void with_dense_row(size_t row, Work work) const
  {
    const char* const start = _data + static_cast<ptrdiff_t>(row) * _row_bytes;
    if (_doubles) { with_values<double>(start, work); }
    else { with_values<float>(start, work); }
  }
  template <typename Value, typename Work>
  void with_values(const char* start, Work work) const
  {
    const auto* values = reinterpret_cast<const Value*>(start);
    constexpr auto size = static_cast<ptrdiff_t>(sizeof(Value));
    // Values that are known to be neighbours are handled several at once.
    if (_column_bytes == size) { work(values, std::integral_constant<ptrdiff_t, 1>()); }
    else { work(values, _column_bytes / size); }
  }

  // A copy of the matrix is visited: what a visitor writes could change the original, as far as a compiler knows.
  template <typename Value, typename Visit>
  void visit_row(size_t row, Visit visit) const
  {
    const feature_rows here = *this;
    if (here._offsets != nullptr)
    {
      const auto* values = reinterpret_cast<const Value*>(here._data);
      const int64_t end = here._offsets[row + 1];
      for (int64_t i = here._offsets[row]; i < end; ++i)
      {
        visit(here.place_of_entry(i), static_cast<float>(values[i]));
      }
      return;
    }
    const char* at = here._data + static_cast<ptrdiff_t>(row) * here._row_bytes;
    for (size_t column = 0; column < here._columns; ++column, at += here._column_bytes)
    {
      visit(here._index_of_column[column], static_cast<float>(*reinterpret_cast<const Value*>(at)));
    }
  }

  uint64_t place_of_entry(int64_t i) const
  {
    if (_index_of != nullptr) { return _index_of[i]; }
    if (_narrow_column != nullptr) { return place_in_line(static_cast<const int32_t*>(_narrow_column)[i]); }
    if (_wide_column != nullptr) { return place_in_line(static_cast<const int64_t*>(_wide_column)[i]); }
    return _index_of_column[_column_of[i]];
  }
  uint64_t place_in_line(int64_t column) const { return static_cast<uint32_t>(_first_hash + column) & _mask; }

  const char* _data = nullptr;
  bool _doubles = false;
  size_t _rows = 0;
  size_t _columns = 0;
  ptrdiff_t _row_bytes = 0;
  ptrdiff_t _column_bytes = 0;
  const uint64_t* _index_of_column = nullptr;
  const int64_t* _offsets = nullptr;
  const int64_t* _column_of = nullptr;
  const uint64_t* _index_of = nullptr;
  const void* _narrow_column = nullptr;
  const void* _wide_column = nullptr;
  uint32_t _first_hash = 0;
  uint64_t _mask = 0;
};

// The actions of many events: event i has the rows first[i] to first[i + 1] of `features`, or all of them where `first`
// is missing and every event has the same actions.
struct action_sets
{
  feature_rows features;
  const int64_t* first = nullptr;

  size_t begin(size_t event) const { return first != nullptr ? static_cast<size_t>(first[event]) : 0; }
  size_t count(size_t event) const
  {
    return first != nullptr ? static_cast<size_t>(first[event + 1] - first[event]) : features.rows();
  }
};
}  // namespace vw_fastcb

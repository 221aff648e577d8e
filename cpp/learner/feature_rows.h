// A matrix of features as numpy or scipy hold it, read row by row in place: dense with any strides, or compressed
// sparse rows; float or double. Zeros are not features, as in VW's text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vw_fastcb
{
class feature_rows
{
public:
  feature_rows() = default;

  static feature_rows dense(
      const void* data, bool doubles, size_t rows, size_t columns, ptrdiff_t row_bytes, ptrdiff_t column_bytes)
  {
    feature_rows matrix(data, doubles, rows, columns);
    matrix._row_bytes = row_bytes;
    matrix._column_bytes = column_bytes;
    return matrix;
  }

  // `offsets` has rows + 1 entries; the values of row r and their columns lie from offsets[r] to offsets[r + 1].
  static feature_rows sparse(
      const void* data, bool doubles, size_t rows, size_t columns, const int64_t* offsets, const int64_t* column_of)
  {
    feature_rows matrix(data, doubles, rows, columns);
    matrix._offsets = offsets;
    matrix._column_of = column_of;
    return matrix;
  }

  size_t rows() const { return _rows; }
  size_t columns() const { return _columns; }

  // Calls visit(column, value) for every value of a row that is not zero.
  template <typename Visit>
  void for_each(size_t row, Visit visit) const
  {
    if (_doubles) { visit_row<double>(row, visit); }
    else { visit_row<float>(row, visit); }
  }

private:
  feature_rows(const void* data, bool doubles, size_t rows, size_t columns)
      : _data(static_cast<const char*>(data))
      , _doubles(doubles)
      , _rows(rows)
      , _columns(columns)
  {
  }

  template <typename Value, typename Visit>
  void visit_row(size_t row, Visit visit) const
  {
    const auto call = [&visit](size_t column, Value value)
    {
      const auto x = static_cast<float>(value);
      if (x != 0.f) { visit(column, x); }
    };
    if (_offsets != nullptr)
    {
      const auto* values = reinterpret_cast<const Value*>(_data);
      for (int64_t i = _offsets[row]; i < _offsets[row + 1]; ++i)
      {
        call(static_cast<size_t>(_column_of[i]), values[i]);
      }
      return;
    }
    const char* at = _data + static_cast<ptrdiff_t>(row) * _row_bytes;
    for (size_t column = 0; column < _columns; ++column, at += _column_bytes)
    {
      call(column, *reinterpret_cast<const Value*>(at));
    }
  }

  const char* _data = nullptr;
  bool _doubles = false;
  size_t _rows = 0;
  size_t _columns = 0;
  ptrdiff_t _row_bytes = 0;
  ptrdiff_t _column_bytes = 0;
  const int64_t* _offsets = nullptr;
  const int64_t* _column_of = nullptr;
};
}  // namespace vw_fastcb

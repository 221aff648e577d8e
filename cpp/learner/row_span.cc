#include "row_span.h"

namespace vw_fastcb
{
void row_span::start(const feature_rows& rows, uint64_t room, unsigned char name_space)
{
  _rows = rows;
  _room = room;
  _name_space = name_space;
  if (rows._offsets != nullptr) { return; }
  reserve(rows._columns);
  _index_of_column.resize(rows._columns);
  for (size_t i = 0; i < rows._columns; ++i) { _index_of_column[i] = rows._index_of_column[i] * room; }
}

void row_span::reserve(size_t width)
{
  if (_values.size() >= width) { return; }
  _values.resize(width);
  _indices.resize(width);
}

feature_span row_span::of(size_t row)
{
  if (_rows._offsets == nullptr)
  {
    // Most dense rows have no zero: then their places are those of all columns.
    const auto columns = static_cast<ptrdiff_t>(_rows._columns);
    float* const values = _values.data();
    int32_t zeros = 0;
    _rows.with_dense_row(row,
        [=, &zeros](const auto* given, auto step)
        {
          for (ptrdiff_t i = 0; i < columns; ++i)
          {
            const auto value = static_cast<float>(given[i * step]);
            values[i] = value;
            zeros |= value == 0.f ? 1 : 0;
          }
        });
    if (zeros == 0) { return {values, _index_of_column.data(), _rows._columns, _name_space}; }
  }
  reserve(_rows.width(row));
  float* const values = _values.data();
  uint64_t* const indices = _indices.data();
  size_t count = 0;
  // A zero is overwritten by the next value: no branch to be mistaken about.
  _rows.for_each_or_zero(row,
      [=, &count, room = _room](uint64_t index, float value)
      {
        values[count] = value;
        indices[count] = index * room;
        count += value != 0.f ? 1 : 0;
      });
  return {values, indices, count, _name_space};
}
}  // namespace vw_fastcb

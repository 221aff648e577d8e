// One row of features as the scorer reads it, in memory that is used again for the next row.
#pragma once

#include "feature_rows.h"
#include "reduction/split_scorer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class row_span
{
public:
  // `room` is what places are multiplied with. The span is good until the next call.
  feature_span of(const feature_rows& rows, size_t row, uint64_t room, unsigned char name_space)
  {
    const size_t width = rows.width(row);
    if (_values.size() < width)
    {
      _values.resize(width);
      _indices.resize(width);
    }
    float* const values = _values.data();
    uint64_t* const indices = _indices.data();
    size_t count = 0;
    // A zero is overwritten by the next value: no branch to be mistaken about.
    rows.for_each_or_zero(row,
        [=, &count](uint64_t index, float value)
        {
          values[count] = value;
          indices[count] = index * room;
          count += value != 0.f ? 1 : 0;
        });
    return {values, indices, count, name_space};
  }

private:
  std::vector<float> _values;
  std::vector<uint64_t> _indices;
};
}  // namespace vw_fastcb

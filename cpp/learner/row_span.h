// One row of features after another as the scorer reads them, in memory that is used again for the next row.
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
  // Begins with a matrix. `room` is what places are multiplied with.
  void start(const feature_rows& rows, uint64_t room, unsigned char name_space);

  // A row of it, without zeros. Good until the next call.
  feature_span of(size_t row);

private:
  void reserve(size_t width);

  feature_rows _rows;
  uint64_t _room = 1;
  unsigned char _name_space = 0;
  std::vector<uint64_t> _index_of_column;  // of dense rows
  std::vector<float> _values;
  std::vector<uint64_t> _indices;
};
}  // namespace vw_fastcb

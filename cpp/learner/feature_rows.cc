#include "feature_rows.h"

#include <cmath>

namespace vw_fastcb
{
bool feature_rows::finite() const
{
  const auto columns = static_cast<ptrdiff_t>(_columns);
  for (size_t row = 0; row < _rows; ++row)
  {
    int32_t found = 0;  // as wide as a float: several are compared at once
    const auto look_at = [&found](float x) { found |= x - x == 0.f ? 0 : 1; };  // infinite and NaN minus itself is NaN
    if (_offsets == nullptr)
    {
      with_dense_row(row,
          [&](const auto* values, auto step)
          {
            for (ptrdiff_t i = 0; i < columns; ++i) { look_at(static_cast<float>(values[i * step])); }
          });
    }
    else
    {
      for_each_or_zero(row, [&](uint64_t, float value) { look_at(value); });
    }
    if (found != 0) { return false; }
  }
  return true;
}

void feature_rows::copy_to(float* out) const
{
  const auto columns = static_cast<ptrdiff_t>(_columns);
  for (size_t row = 0; row < _rows; ++row, out += columns)
  {
    with_dense_row(row,
        [&](const auto* values, auto step)
        {
          for (ptrdiff_t i = 0; i < columns; ++i) { out[i] = static_cast<float>(values[i * step]); }
        });
  }
}

bool feature_rows::equals(const float* others) const
{
  const auto columns = static_cast<ptrdiff_t>(_columns);
  for (size_t row = 0; row < _rows; ++row, others += columns)
  {
    int32_t found = 0;
    with_dense_row(row,
        [&](const auto* values, auto step)
        {
          for (ptrdiff_t i = 0; i < columns; ++i)
          {
            found |= static_cast<float>(values[i * step]) == others[i] ? 0 : 1;
          }
        });
    if (found != 0) { return false; }
  }
  return true;
}
}  // namespace vw_fastcb

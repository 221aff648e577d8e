// Sparse rows as scipy holds them, and as decisions keep them.
#pragma once

#include "numpy_rows.h"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace py = pybind11;

namespace vw_fastcb
{
constexpr py::ssize_t ALL_ROWS = -1;  // where one row may be wanted

// One sparse row, or several: values, columns and offsets as scipy holds them, read where they are.
struct sparse_parts
{
  py::array values;   // of float or double
  py::array columns;  // of int32_t or int64_t
  std::vector<int64_t> offsets;

  bool wide() const { return columns.itemsize() == sizeof(int64_t); }
  int64_t column(int64_t i) const
  {
    return wide() ? static_cast<const int64_t*>(columns.data())[i] : static_cast<const int32_t*>(columns.data())[i];
  }
  float value(int64_t i) const
  {
    return values.itemsize() == sizeof(double) ? static_cast<float>(static_cast<const double*>(values.data())[i])
                                               : static_cast<const float*>(values.data())[i];
  }

  // Whether the columns of each row lie within the width and in order.
  bool is_sound(size_t width) const
  {
    for (size_t row = 0; row + 1 < offsets.size(); ++row)
    {
      int64_t before = -1;
      for (auto i = offsets[row]; i < offsets[row + 1]; ++i)
      {
        const auto at = column(i);
        if (at <= before || static_cast<size_t>(at) >= width) { return false; }
        before = at;
      }
    }
    return true;
  }
};

// Some entries of an array of whole numbers; none where it is no such array.
std::vector<int64_t> whole_numbers(const py::handle& array, py::ssize_t first, py::ssize_t end);

std::optional<sparse_parts> parts_of(const py::object& data, const py::object& columns, std::vector<int64_t> offsets);

// scipy's compressed sparse rows, of which `row` is wanted, or all if it is -1.
std::optional<sparse_parts> parts_of_matrix(const py::handle& matrix, py::ssize_t rows, py::ssize_t row);
bool is_sparse_matrix(const py::handle& object);

// What a decision keeps of a sparse row: (values, columns).
bool is_sparse_row(const py::handle& object);

// The same row by name: several together are a list of dictionaries.
py::dict as_dict(const py::object& sparse_row);
}  // namespace vw_fastcb

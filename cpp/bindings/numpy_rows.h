// From Python's arrays to feature_rows, for the bindings.
#pragma once

#include "learner/feature_rows.h"

#include <pybind11/numpy.h>

#include <cstdint>

namespace vw_fastcb
{
namespace py = pybind11;
using indices = py::array_t<int64_t, py::array::c_style>;
using columns = py::array_t<uint64_t, py::array::c_style>;
using floats = py::array_t<float, py::array::c_style>;
using doubles = py::array_t<double, py::array::c_style>;

inline bool is_double(const py::array& values) { return py::isinstance<py::array_t<double>>(values); }

// The bake-off's data, told apart by length: a dense matrix is (array, places of the columns), a sparse one (values,
// column of each, offsets, places of the columns). The caller keeps the arrays alive.
inline feature_rows rows_of(const py::tuple& parts)
{
  const auto values = py::reinterpret_borrow<py::array>(parts[0]);
  if (parts.size() == 2)
  {
    const auto places = py::reinterpret_borrow<columns>(parts[1]);
    return feature_rows::dense(values.data(), is_double(values), static_cast<size_t>(values.shape(0)),
        static_cast<size_t>(values.shape(1)), values.strides(0), values.strides(1), places.data());
  }
  const auto offsets = py::reinterpret_borrow<indices>(parts[2]);
  const auto rows = static_cast<size_t>(offsets.size()) - 1;
  const auto column_of = py::reinterpret_borrow<indices>(parts[1]);
  const auto places = py::reinterpret_borrow<columns>(parts[3]);
  return feature_rows::sparse(
      values.data(), is_double(values), rows, offsets.data(), by_table{column_of.data(), places.data()});
}

// From now on read-only.
inline void freeze(py::array& array)
{
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
}
}  // namespace vw_fastcb

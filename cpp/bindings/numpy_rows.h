// The kinds of numpy's arrays that the bindings take.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>

namespace vw_fastcb
{
namespace py = pybind11;
using indices = py::array_t<int64_t, py::array::c_style>;
using columns = py::array_t<uint64_t, py::array::c_style>;
using floats = py::array_t<float, py::array::c_style>;
using double_array = py::array_t<double, py::array::c_style>;

inline bool is_double(const py::array& values) { return py::isinstance<py::array_t<double>>(values); }

// From now on read-only.
inline void freeze(py::array& array)
{
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
}
}  // namespace vw_fastcb

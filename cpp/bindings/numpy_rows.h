// From Python's objects to feature_rows, for the bindings.
#pragma once

#include "learner/feature_rows.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace vw_fastcb
{
namespace py = pybind11;
using indices = py::array_t<int64_t, py::array::c_style>;
using columns = py::array_t<uint64_t, py::array::c_style>;
using floats = py::array_t<float, py::array::c_style>;
using doubles = py::array_t<double, py::array::c_style>;
using column_table = std::vector<uint64_t>;

inline bool is_double(const py::array& values) { return py::isinstance<py::array_t<double>>(values); }

// What vw_fastcb.learner makes of users' data, told apart by length: a dense matrix is (array, places of the columns),
// a sparse one (values, column of each, offsets, places of the columns), placed rows are (values, place of each,
// offsets). The caller keeps the arrays alive.
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
  if (parts.size() == 3)
  {
    const auto places = py::reinterpret_borrow<columns>(parts[1]);
    return feature_rows::placed(static_cast<const float*>(values.data()), rows, offsets.data(), places.data());
  }
  const auto column_of = py::reinterpret_borrow<indices>(parts[1]);
  const auto places = py::reinterpret_borrow<columns>(parts[3]);
  return feature_rows::sparse(values.data(), is_double(values), rows, offsets.data(), column_of.data(), places.data());
}

inline void freeze(py::array& array)
{
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
}

// One feature of a row that says itself where it lies.
using placed_feature = std::pair<uint64_t, float>;

// From hashes to places, in one order whatever the order of names was, so that sums are rounded alike: that of hashes,
// which is that of numbers where names are the numbers of columns.
inline void place_hashed(std::vector<placed_feature>& row, uint64_t mask)
{
  std::stable_sort(
      row.begin(), row.end(), [](const placed_feature& x, const placed_feature& y) { return x.first < y.first; });
  for (auto& feature : row) { feature.first &= mask; }
}

// Adds what a dictionary says of one name, unless it is missing: `name` with a number, or the feature `name=value` with
// a string, as one writes them in VW's text.
template <typename Hash>
void add_feature(const std::string& name, const py::handle& value, Hash hash, std::vector<placed_feature>& row)
{
  if (value.is_none()) { return; }
  if (PyUnicode_Check(value.ptr()))
  {
    row.emplace_back(hash(name + "=" + value.cast<std::string>()), 1.f);
    return;
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1. && PyErr_Occurred() != nullptr)
  {
    PyErr_Clear();
    if (std::strcmp(Py_TYPE(value.ptr())->tp_name, "NAType") == 0) { return; }  // pandas.NA
    throw py::type_error("the feature '" + name + "' has the value " + py::repr(value).cast<std::string>() +
                         "; expected a number, a string, a boolean or None.");
  }
  if (std::isnan(number)) { return; }
  const auto x = static_cast<float>(number);
  if (!std::isfinite(x))
  {
    throw py::value_error("the feature '" + name + "' has the value " + py::repr(value).cast<std::string>() +
                          ", which is infinite in float32; expected a finite number.");
  }
  if (x != 0.f) { row.emplace_back(hash(name), x); }
}

// From dictionaries to placed rows.
template <typename Hash>
py::tuple placed_dicts(Hash hash, uint64_t mask, const py::list& dicts)
{
  std::vector<placed_feature> all;
  std::vector<placed_feature> row;
  indices offsets(static_cast<py::ssize_t>(dicts.size()) + 1);
  auto* offset = offsets.mutable_data();
  *offset = 0;
  for (const auto& dict : dicts)
  {
    row.clear();
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(dict))
    {
      add_feature(py::str(key).cast<std::string>(), value, hash, row);
    }
    place_hashed(row, mask);
    all.insert(all.end(), row.begin(), row.end());
    *++offset = static_cast<int64_t>(all.size());
  }
  floats values(static_cast<py::ssize_t>(all.size()));
  columns places(static_cast<py::ssize_t>(all.size()));
  std::transform(all.begin(), all.end(), values.mutable_data(), [](const placed_feature& x) { return x.second; });
  std::transform(all.begin(), all.end(), places.mutable_data(), [](const placed_feature& x) { return x.first; });
  return py::make_tuple(values, places, offsets);
}

// Turns the hashes of rows into places, where they are.
inline void place_rows(floats& values, columns& places, const indices& offsets, uint64_t mask)
{
  auto* value = values.mutable_data();
  auto* place = places.mutable_data();
  const auto* offset = offsets.data();
  const auto rows = offsets.size() - 1;
  const py::gil_scoped_release release;
  std::vector<placed_feature> row;
  for (py::ssize_t r = 0; r < rows; ++r)
  {
    row.clear();
    for (auto i = offset[r]; i < offset[r + 1]; ++i) { row.emplace_back(place[i], value[i]); }
    place_hashed(row, mask);
    for (size_t i = 0; i < row.size(); ++i)
    {
      place[offset[r] + static_cast<int64_t>(i)] = row[i].first;
      value[offset[r] + static_cast<int64_t>(i)] = row[i].second;
    }
  }
}
}  // namespace vw_fastcb

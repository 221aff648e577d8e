// The forms in which one context, or the actions of one event, are taken in a single call: plain arrays, scipy's sparse
// rows, dictionaries, and what a decision kept of them.
#pragma once

#include "learner/feature_rows.h"
#include "numpy_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

namespace vw_fastcb
{
// A plain array: numpy's own type (no subclass), float32 or float64 as this machine has them, of `dimensions`
// dimensions, the last of which has `width` entries. Anything else needs a closer look than the quick ways take.
inline bool is_plain(const py::handle& given, py::ssize_t dimensions, size_t width)
{
  auto& api = py::detail::npy_api::get();
  if (width == 0 || Py_TYPE(given.ptr()) != api.PyArray_Type_) { return false; }
  const auto* array = py::detail::array_proxy(given.ptr());
  if (array->nd != dimensions || static_cast<size_t>(array->dimensions[dimensions - 1]) != width) { return false; }
  if (dimensions == 2 && array->dimensions[0] == 0) { return false; }
  if ((array->flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0) { return false; }
  static PyObject* const single = py::dtype::of<float>().release().ptr();
  static PyObject* const twice = py::dtype::of<double>().release().ptr();
  return array->descr == single || array->descr == twice;
}

inline feature_rows rows_in_place(const py::handle& given, const column_table& table)
{
  const auto array = py::reinterpret_borrow<py::array>(given);
  const bool one_row = array.ndim() == 1;
  return feature_rows::dense(array.data(), array.itemsize() == sizeof(double),
      one_row ? 1 : static_cast<size_t>(array.shape(0)), table.size(), one_row ? 0 : array.strides(0),
      array.strides(array.ndim() - 1), table.data());
}

// A plain array of finite numbers, read where it is.
inline std::optional<feature_rows> plain_rows(
    const py::handle& given, py::ssize_t dimensions, const column_table& table)
{
  if (!is_plain(given, dimensions, table.size())) { return std::nullopt; }
  auto rows = rows_in_place(given, table);
  if (!rows.finite()) { return std::nullopt; }
  return rows;
}

// A read-only copy of a plain array in VW's single precision. Where the next array holds the same numbers the copy is
// kept: decisions about the same actions share it.
class plain_copy
{
public:
  // False, and nothing is changed, unless the array is plain and of finite numbers.
  bool take(const py::handle& given, py::ssize_t dimensions, size_t width)
  {
    if (!is_plain(given, dimensions, width)) { return false; }
    const auto array = py::reinterpret_borrow<py::array>(given);
    return array.itemsize() == sizeof(double) ? take_values<double>(array) : take_values<float>(array);
  }

  feature_rows rows(const column_table& table) const { return rows_in_place(_copy, table); }
  const py::array& array() const { return _copy; }

private:
  template <typename Value>
  bool take_values(const py::array& given)
  {
    const bool one_row = given.ndim() == 1;
    const auto height = one_row ? 1 : given.shape(0);
    const auto width = given.shape(given.ndim() - 1);
    const bool may_be_same = _copy && _copy.ndim() == given.ndim() && _copy.size() == given.size();
    if (may_be_same && for_all<Value>(given, height, width, [at = data()](float x) mutable { return *at++ == x; }))
    {
      return true;
    }
    if (!for_all<Value>(given, height, width, [](float x) { return std::isfinite(x); })) { return false; }
    py::array_t<float> copy = one_row ? py::array_t<float>(width) : py::array_t<float>({height, width});
    for_all<Value>(given, height, width,
        [out = copy.mutable_data()](float x) mutable
        {
          *out++ = x;
          return true;
        });
    freeze(copy);
    _copy = std::move(copy);
    return true;
  }

  // Whether something holds of every value.
  template <typename Value, typename Test>
  static bool for_all(const py::array& given, py::ssize_t height, py::ssize_t width, Test test)
  {
    const auto* start = static_cast<const char*>(given.data());
    const auto column_bytes = given.strides(given.ndim() - 1);
    for (py::ssize_t row = 0; row < height; ++row)
    {
      const char* at = start + (given.ndim() == 1 ? 0 : row * given.strides(0));
      for (py::ssize_t column = 0; column < width; ++column, at += column_bytes)
      {
        if (!test(static_cast<float>(*reinterpret_cast<const Value*>(at)))) { return false; }
      }
    }
    return true;
  }

  const float* data() const { return static_cast<const float*>(_copy.data()); }

  py::array _copy = py::reinterpret_steal<py::array>(py::handle());
};

inline bool is_dict_or_dicts(const py::handle& given, py::ssize_t dimensions)
{
  if (dimensions == 1) { return PyDict_CheckExact(given.ptr()) != 0; }
  if (PyList_CheckExact(given.ptr()) == 0 || PyList_GET_SIZE(given.ptr()) == 0) { return false; }
  for (const auto& one : py::reinterpret_borrow<py::list>(given))
  {
    if (PyDict_CheckExact(one.ptr()) == 0) { return false; }
  }
  return true;
}

// Whether this is (values, place of each, offsets), as a decision keeps named features.
inline bool is_placed(const py::handle& given)
{
  if (PyTuple_CheckExact(given.ptr()) == 0 || PyTuple_GET_SIZE(given.ptr()) != 3) { return false; }
  const auto parts = py::reinterpret_borrow<py::tuple>(given);
  if (!py::isinstance<floats>(parts[0]) || !py::isinstance<columns>(parts[1]) || !py::isinstance<indices>(parts[2]))
  {
    return false;
  }
  const auto values = py::reinterpret_borrow<floats>(parts[0]);
  const auto places = py::reinterpret_borrow<columns>(parts[1]);
  const auto offsets = py::reinterpret_borrow<indices>(parts[2]);
  if (values.ndim() != 1 || places.ndim() != 1 || offsets.ndim() != 1 || offsets.size() < 2) { return false; }
  const auto* offset = offsets.data();
  return places.size() == values.size() && offset[0] == 0 && std::is_sorted(offset, offset + offsets.size()) &&
         offset[offsets.size() - 1] == values.size();
}

// The values of an array of numbers as floats, the entries of one of whole numbers as int64_t: copied one by one.
template <typename From, typename To>
bool copy_entries(const py::handle& given, To* out)
{
  using array = py::array_t<From, py::array::c_style>;
  if (!py::isinstance<array>(given)) { return false; }
  const auto entries = py::reinterpret_borrow<array>(given);
  if (entries.ndim() != 1) { return false; }
  std::transform(entries.data(), entries.data() + entries.size(), out, [](From x) { return static_cast<To>(x); });
  return true;
}

// Whether the columns of each row rise: scipy allows any order, and a column twice.
inline bool in_order(const uint64_t* column, const int64_t* offsets, py::ssize_t rows)
{
  for (py::ssize_t r = 0; r < rows; ++r)
  {
    for (auto i = offsets[r] + 1; i < offsets[r + 1]; ++i)
    {
      if (column[i] <= column[i - 1]) { return false; }
    }
  }
  return true;
}

// Whether this is a matrix of scipy's compressed sparse rows, as many as wanted, and as wide as the table.
inline bool is_sparse(const py::handle& given, py::ssize_t dimensions, const column_table& table)
{
  const std::string name = py::type::handle_of(given).attr("__name__").cast<std::string>();
  if (table.empty() || (name != "csr_matrix" && name != "csr_array")) { return false; }
  const auto shape = py::tuple(given.attr("shape"));
  if (shape.size() != 2 || shape[1].cast<size_t>() != table.size()) { return false; }
  const auto rows = shape[0].cast<py::ssize_t>();
  const auto entries = py::len(given.attr("indices"));
  return (dimensions == 1 ? rows == 1 : rows >= 1) && py::len(given.attr("data")) == entries &&
         static_cast<py::ssize_t>(py::len(given.attr("indptr"))) == rows + 1;
}

// Its placed rows; nothing where the columns are not in order, or anything else about them needs a closer look.
inline std::optional<py::tuple> placed_sparse(const py::handle& sparse, const column_table& table)
{
  const py::object data = sparse.attr("data");
  const py::object column_of = sparse.attr("indices");
  const py::object row_offsets = sparse.attr("indptr");
  floats values(static_cast<py::ssize_t>(py::len(data)));
  columns places(static_cast<py::ssize_t>(py::len(column_of)));
  indices offsets(static_cast<py::ssize_t>(py::len(row_offsets)));
  auto* const value = values.mutable_data();
  auto* const place = places.mutable_data();
  auto* const offset = offsets.mutable_data();
  const bool copied = (copy_entries<double>(data, value) || copy_entries<float>(data, value)) &&
                      (copy_entries<int32_t>(column_of, place) || copy_entries<int64_t>(column_of, place)) &&
                      (copy_entries<int32_t>(row_offsets, offset) || copy_entries<int64_t>(row_offsets, offset));
  auto parts = py::make_tuple(values, places, offsets);
  if (!copied || !is_placed(parts) || !in_order(place, offset, offsets.size() - 1)) { return std::nullopt; }
  for (py::ssize_t i = 0; i < places.size(); ++i)
  {
    if (place[i] >= table.size()) { return std::nullopt; }
    place[i] = table[place[i]];
  }
  if (!rows_of(parts).finite()) { return std::nullopt; }
  return parts;
}

inline void freeze_all(const py::tuple& parts)
{
  for (const auto& part : parts)
  {
    auto array = py::reinterpret_borrow<py::array>(part);
    freeze(array);
  }
}

// Rows, and an object that keeps them: what a decision remembers.
struct quick_rows
{
  feature_rows features;
  py::object kept;
};

// What tells names apart: their hashes, and which bits of those say where they lie.
template <typename Hash>
struct name_table
{
  Hash hash;
  uint64_t mask;
};

// `copy` takes a plain array, unless it holds the same already.
template <typename Names>
std::optional<quick_rows> take_rows(
    const py::handle& given, py::ssize_t dimensions, const column_table& table, Names names, plain_copy& copy)
{
  if (copy.take(given, dimensions, table.size())) { return quick_rows{copy.rows(table), copy.array()}; }
  std::optional<py::tuple> parts;
  if (is_dict_or_dicts(given, dimensions))
  {
    py::list dicts;
    if (dimensions == 1) { dicts.append(given); }
    else { dicts = py::reinterpret_borrow<py::list>(given); }
    parts = placed_dicts(names.hash, names.mask, dicts);
  }
  else if (is_sparse(given, dimensions, table)) { parts = placed_sparse(given, table); }
  if (!parts) { return std::nullopt; }
  freeze_all(*parts);
  return quick_rows{rows_of(*parts), *parts};
}

// The same without a copy, for rows that need not outlive the call; also of what a decision kept.
template <typename Names>
std::optional<quick_rows> read_rows(
    const py::handle& given, py::ssize_t dimensions, const column_table& table, Names names)
{
  if (is_placed(given))
  {
    const auto rows = rows_of(py::reinterpret_borrow<py::tuple>(given));
    if ((dimensions == 1 && rows.rows() != 1) || !rows.finite()) { return std::nullopt; }
    return quick_rows{rows, py::reinterpret_borrow<py::object>(given)};
  }
  const auto plain = plain_rows(given, dimensions, table);
  if (plain) { return quick_rows{*plain, py::reinterpret_borrow<py::object>(given)}; }
  plain_copy unused;
  return take_rows(given, dimensions, table, names, unused);
}
}  // namespace vw_fastcb

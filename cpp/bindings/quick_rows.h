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

// A read-only copy of a plain array in VW's single precision. Where the next array holds the same numbers the copy is
// kept: decisions about the same actions share it.
class plain_copy
{
public:
  // False, and nothing is changed, unless the array is plain and of finite numbers.
  bool take(const py::handle& given, py::ssize_t dimensions, const column_table& table)
  {
    if (!is_plain(given, dimensions, table.size())) { return false; }
    const auto array = py::reinterpret_borrow<py::array>(given);
    const auto rows = rows_in_place(array, table);
    const bool may_be_same = _copy && _copy.ndim() == array.ndim() && _copy.size() == array.size();
    if (may_be_same && rows.equals(static_cast<const float*>(_copy.data()))) { return true; }
    if (!rows.finite()) { return false; }
    const auto width = array.shape(dimensions - 1);
    floats copy = dimensions == 1 ? floats(width) : floats({array.shape(0), width});
    rows.copy_to(copy.mutable_data());
    freeze(copy);
    _copy = std::move(copy);
    return true;
  }

  feature_rows rows(const column_table& table) const { return rows_in_place(_copy, table); }
  const py::array& array() const { return _copy; }

private:
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

// The dictionary of a row, where rows are dictionaries; the others are not looked at.
inline std::optional<py::object> dict_at(const py::handle& given, py::ssize_t dimensions, py::ssize_t row)
{
  PyObject* found = given.ptr();
  if (dimensions == 2)
  {
    if (PyList_CheckExact(given.ptr()) == 0 || row >= PyList_GET_SIZE(given.ptr())) { return std::nullopt; }
    found = PyList_GET_ITEM(given.ptr(), row);
  }
  if (PyDict_CheckExact(found) == 0) { return std::nullopt; }
  return py::reinterpret_borrow<py::object>(found);
}

// What a decision keeps of named features: (values, place of each, offsets).
struct placed_parts
{
  floats values;
  columns places;
  indices offsets;

  py::ssize_t rows() const { return offsets.size() - 1; }

  // Whether the values of a row lie within the arrays.
  bool holds(py::ssize_t row) const
  {
    const auto* offset = offsets.data() + row;
    return 0 <= offset[0] && offset[0] <= offset[1] && offset[1] <= values.size();
  }
};

inline std::optional<placed_parts> as_placed(const py::handle& given)
{
  if (PyTuple_CheckExact(given.ptr()) == 0 || PyTuple_GET_SIZE(given.ptr()) != 3) { return std::nullopt; }
  const auto parts = py::reinterpret_borrow<py::tuple>(given);
  if (!py::isinstance<floats>(parts[0]) || !py::isinstance<columns>(parts[1]) || !py::isinstance<indices>(parts[2]))
  {
    return std::nullopt;
  }
  placed_parts placed{py::reinterpret_borrow<floats>(parts[0]), py::reinterpret_borrow<columns>(parts[1]),
      py::reinterpret_borrow<indices>(parts[2])};
  const bool sound = placed.values.ndim() == 1 && placed.places.ndim() == 1 && placed.offsets.ndim() == 1 &&
                     placed.offsets.size() >= 2 && placed.places.size() == placed.values.size();
  if (!sound) { return std::nullopt; }
  return placed;
}

// Whether this is such a tuple, all of its rows in order.
inline bool is_placed(const py::handle& given)
{
  const auto placed = as_placed(given);
  if (!placed) { return false; }
  const auto* offset = placed->offsets.data();
  const auto* const end = offset + placed->offsets.size();
  return offset[0] == 0 && std::is_sorted(offset, end) && end[-1] == placed->values.size();
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

// Its placed rows, from its three arrays; nothing where the columns are not in order, or anything else about them needs
// a closer look.
inline std::optional<py::tuple> placed_sparse(
    const py::object& data, const py::object& column_of, const py::object& row_offsets, const column_table& table)
{
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

inline std::optional<py::tuple> placed_sparse(const py::handle& sparse, const column_table& table)
{
  return placed_sparse(sparse.attr("data"), sparse.attr("indices"), sparse.attr("indptr"), table);
}

inline std::optional<py::tuple> placed_sparse_row(const py::handle& sparse, py::ssize_t row, const column_table& table)
{
  const py::object offsets = sparse.attr("indptr");
  const auto begin = offsets[py::int_(row)].cast<py::ssize_t>();
  const auto end = offsets[py::int_(row + 1)].cast<py::ssize_t>();
  if (begin < 0 || begin > end) { return std::nullopt; }
  const py::slice alone(begin, end, 1);  // where it points outside, the check of the parts finds too few values
  indices ends(2);
  ends.mutable_data()[0] = 0;
  ends.mutable_data()[1] = end - begin;
  return placed_sparse(sparse.attr("data")[alone], sparse.attr("indices")[alone], ends, table);
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
  if (copy.take(given, dimensions, table)) { return quick_rows{copy.rows(table), copy.array()}; }
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

// One row of the same, without a copy of plain arrays, and also of what a decision kept: for learning, which must not
// cost more where there are more rows. Nothing where there is no such row, or it needs a closer look.
template <typename Names>
std::optional<quick_rows> read_row(
    const py::handle& given, py::ssize_t dimensions, py::ssize_t row, const column_table& table, Names names)
{
  const auto finite = [](const feature_rows& features, py::object keeper) -> std::optional<quick_rows>
  {
    if (!features.finite()) { return std::nullopt; }
    return quick_rows{features, std::move(keeper)};
  };
  if (const auto placed = as_placed(given))
  {
    const bool there = row < placed->rows() && placed->holds(row) && (dimensions == 2 || placed->rows() == 1);
    if (!there) { return std::nullopt; }
    return finite(rows_of(py::reinterpret_borrow<py::tuple>(given)).one(static_cast<size_t>(row)),
        py::reinterpret_borrow<py::object>(given));
  }
  if (is_plain(given, dimensions, table.size()))
  {
    const auto rows = rows_in_place(given, table);
    if (static_cast<size_t>(row) >= rows.rows()) { return std::nullopt; }
    return finite(rows.one(static_cast<size_t>(row)), py::reinterpret_borrow<py::object>(given));
  }
  std::optional<py::tuple> parts;
  if (const auto dict = dict_at(given, dimensions, row))
  {
    py::list alone;
    alone.append(*dict);
    parts = placed_dicts(names.hash, names.mask, alone);
  }
  else if (is_sparse(given, dimensions, table))
  {
    if (row >= py::tuple(given.attr("shape"))[0].cast<py::ssize_t>()) { return std::nullopt; }
    parts = placed_sparse_row(given, row, table);
  }
  if (!parts) { return std::nullopt; }
  return quick_rows{rows_of(*parts), *parts};
}
}  // namespace vw_fastcb

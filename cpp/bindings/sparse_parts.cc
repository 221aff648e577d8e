#include "sparse_parts.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace vw_fastcb
{
namespace
{
// Whether this is an array of one of two types, its entries one after another.
template <typename First, typename Second>
bool is_list_of(const py::handle& given)
{
  if (!py::isinstance<py::array_t<First>>(given) && !py::isinstance<py::array_t<Second>>(given)) { return false; }
  const auto array = py::reinterpret_borrow<py::array>(given);
  return array.ndim() == 1 && (array.size() <= 1 || array.strides(0) == array.itemsize());
}
}  // namespace

std::vector<int64_t> whole_numbers(const py::handle& given, py::ssize_t first, py::ssize_t end)
{
  if (!is_list_of<int32_t, int64_t>(given)) { return {}; }
  const auto array = py::reinterpret_borrow<py::array>(given);
  if (array.itemsize() == sizeof(int32_t))
  {
    const auto* const entries = static_cast<const int32_t*>(array.data());
    return {entries + first, entries + end};
  }
  const auto* const entries = static_cast<const int64_t*>(array.data());
  return {entries + first, entries + end};
}

std::optional<sparse_parts> parts_of(const py::object& data, const py::object& columns, std::vector<int64_t> offsets)
{
  if (offsets.empty() || !std::is_sorted(offsets.begin(), offsets.end()) || offsets.front() < 0) { return {}; }
  if (!is_list_of<float, double>(data) || !is_list_of<int32_t, int64_t>(columns)) { return {}; }
  sparse_parts parts{data, columns, std::move(offsets)};
  const auto end = parts.offsets.back();
  if (end > parts.values.size() || end > parts.columns.size()) { return {}; }
  return parts;
}

std::optional<sparse_parts> parts_of_matrix(const py::handle& given, py::ssize_t rows, py::ssize_t row)
{
  const py::object offsets = given.attr("indptr");
  if (static_cast<py::ssize_t>(py::len(offsets)) != rows + 1 || row >= rows) { return {}; }
  const auto first = std::max<py::ssize_t>(row, 0);
  const auto end = row == ALL_ROWS ? rows + 1 : first + 2;
  return parts_of(given.attr("data"), given.attr("indices"), whole_numbers(offsets, first, end));
}

bool is_sparse_matrix(const py::handle& given)
{
  const char* const name = Py_TYPE(given.ptr())->tp_name;
  return std::strcmp(name, "csr_matrix") == 0 || std::strcmp(name, "csr_array") == 0;
}

bool is_sparse_row(const py::handle& given) { return PyTuple_CheckExact(given.ptr()) != 0 && py::len(given) == 2; }

py::dict as_dict(const py::object& sparse_row)
{
  const auto pair = py::reinterpret_borrow<py::tuple>(sparse_row);
  const auto values = py::reinterpret_borrow<floats>(pair[0]);
  const auto columns = py::reinterpret_borrow<indices>(pair[1]);
  py::dict row;
  for (py::ssize_t i = 0; i < values.size(); ++i)
  {
    row[py::str(std::to_string(columns.data()[i]))] = py::float_(values.data()[i]);
  }
  return row;
}
}  // namespace vw_fastcb

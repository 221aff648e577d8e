#include "row_reader.h"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace vw_fastcb
{
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

namespace
{
constexpr py::ssize_t ALL = -1;

// Kinds are remembered of so many names. Dictionaries may have any number of them, such as the words of texts.
constexpr size_t MOST_KINDS = 4096;

// What this file leaves to vw_fastcb.learner.rows, which knows the packages that users bring.
struct python_side
{
  py::object canonical;      // anything else into a form that is read here, or an error
  py::object check_columns;  // raises where columns are others than before
  py::object refuse_value;   // raises: an array with values that are not finite
  py::object is_number;      // whether an object that is neither an int nor a float is a number
  py::object columns;        // the class of a frame's columns
  py::object number;         // the two kinds
  py::object text;
};

const python_side& python()
{
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<python_side> found;
  return found
      .call_once_and_store_result(
          []
          {
            const auto rows = py::module_::import("vw_fastcb.learner.rows");
            return python_side{rows.attr("canonical"), rows.attr("check_columns"), rows.attr("refuse_value"),
                rows.attr("is_number"), rows.attr("Columns"), py::str("number"), py::str("text")};
          })
      .get_stored();
}

// A plain array: numpy's own type (no subclass), float32 or float64 as this machine has them.
bool is_plain(const py::handle& given, int dimensions)
{
  auto& api = py::detail::npy_api::get();
  if (Py_TYPE(given.ptr()) != api.PyArray_Type_) { return false; }
  const auto* array = py::detail::array_proxy(given.ptr());
  if (array->nd != dimensions || (array->flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0) { return false; }
  static PyObject* const single = py::dtype::of<float>().release().ptr();
  static PyObject* const twice = py::dtype::of<double>().release().ptr();
  if (array->descr == single || array->descr == twice) { return true; }
  const auto type = py::reinterpret_borrow<py::array>(given).dtype();  // an equal one, as pickled arrays bring it
  return type.equal(py::dtype::of<float>()) || type.equal(py::dtype::of<double>());
}

std::string text_of(const py::handle& text, const char* what)
{
  py::ssize_t length = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (bytes == nullptr)
  {
    PyErr_Clear();
    throw py::value_error(std::string(what) + " " + py::repr(text).cast<std::string>() +
                          " has half of a surrogate pair, which is no text; expected valid Unicode.");
  }
  return {bytes, static_cast<size_t>(length)};
}

// A feature's value: a number, or nothing where it is missing.
std::optional<double> number_of(const std::string& name, const py::handle& value, const std::string& where)
{
  PyObject* const object = value.ptr();
  const bool sure = PyFloat_Check(object) != 0 || PyLong_Check(object) != 0;
  if (!sure && std::strcmp(Py_TYPE(object)->tp_name, "NAType") == 0) { return std::nullopt; }  // pandas.NA
  if (!sure && !py::cast<bool>(python().is_number(value)))
  {
    throw py::type_error(where + "the feature '" + name + "' has the value " + py::repr(value).cast<std::string>() +
                         "; expected a number, a string, a boolean or None.");
  }
  const double number = PyFloat_AsDouble(object);
  const bool failed = number == -1. && PyErr_Occurred() != nullptr;
  if (failed) { PyErr_Clear(); }
  if (!failed && std::isnan(number)) { return std::nullopt; }
  if (failed || !std::isfinite(static_cast<float>(number)))
  {
    auto shown = failed ? std::string("a number of too many digits") : py::repr(value).cast<std::string>();
    throw py::value_error(where + "the feature '" + name + "' has the value " + shown +
                          ", which is infinite in float32; expected a finite number.");
  }
  return number;
}

// Whether this is an array of one of two types, its entries one after another.
template <typename First, typename Second>
bool is_list_of(const py::handle& given)
{
  if (!py::isinstance<py::array_t<First>>(given) && !py::isinstance<py::array_t<Second>>(given)) { return false; }
  const auto array = py::reinterpret_borrow<py::array>(given);
  return array.ndim() == 1 && (array.size() <= 1 || array.strides(0) == array.itemsize());
}

// Some entries of an array of whole numbers.
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

// scipy's compressed sparse rows, of which `row` is wanted, or all.
std::optional<sparse_parts> parts_of_matrix(const py::handle& given, py::ssize_t rows, py::ssize_t row)
{
  const py::object offsets = given.attr("indptr");
  if (static_cast<py::ssize_t>(py::len(offsets)) != rows + 1 || row >= rows) { return {}; }
  const auto first = std::max<py::ssize_t>(row, 0);
  const auto end = row == ALL ? rows + 1 : first + 2;
  return parts_of(given.attr("data"), given.attr("indices"), whole_numbers(offsets, first, end));
}

bool is_sparse_matrix(const py::handle& given)
{
  const char* const name = Py_TYPE(given.ptr())->tp_name;
  return std::strcmp(name, "csr_matrix") == 0 || std::strcmp(name, "csr_array") == 0;
}

// What a decision keeps of a sparse row: (values, columns).
bool is_sparse_row(const py::handle& given) { return PyTuple_CheckExact(given.ptr()) != 0 && py::len(given) == 2; }

// The same row by name: several together are a list of dictionaries.
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

py::array_t<float> frozen_floats(const feature_rows& rows, const std::vector<py::ssize_t>& shape)
{
  floats copy(shape);
  rows.copy_to(copy.mutable_data());
  freeze(copy);
  return copy;
}
}  // namespace

py::object encoded_rows::kept(size_t row) const
{
  if (_form == form::dense)
  {
    const auto one = _dense.alone(row);
    return frozen_floats(one, {static_cast<py::ssize_t>(one.width(0))});
  }
  const py::int_ place(row + _first);
  if (_form == form::columns) { return _source.attr("row")(place); }
  if (_form == form::dicts)
  {
    const py::object dict = PyDict_CheckExact(_source.ptr()) != 0 ? _source : py::object(_source[place]);
    return py::reinterpret_steal<py::object>(PyDict_Copy(dict.ptr()));
  }
  if (is_sparse_row(_source)) { return _source; }
  const auto parts = sparse_row(row);
  const auto begin = parts.offsets.front();
  const auto count = parts.offsets.back() - begin;
  floats values(count);
  indices columns(count);
  for (int64_t i = 0; i < count; ++i)
  {
    values.mutable_data()[i] = parts.value(begin + i);
    columns.mutable_data()[i] = parts.column(begin + i);
  }
  freeze(values);
  freeze(columns);
  return py::make_tuple(values, columns);
}

sparse_parts encoded_rows::sparse_row(size_t row) const
{
  if (_owners)
  {
    const auto arrays = py::reinterpret_borrow<py::tuple>(_owners);
    return {arrays[0], arrays[1], {_offsets[row], _offsets[row + 1]}};
  }
  const auto count = py::tuple(_source.attr("shape"))[0].cast<py::ssize_t>();
  auto parts = parts_of_matrix(_source, count, static_cast<py::ssize_t>(row + _first));
  if (!parts) { throw std::logic_error("a sparse matrix changed while it was read"); }
  return std::move(*parts);
}

py::object encoded_rows::all_kept() const
{
  const auto rows = static_cast<py::ssize_t>(features.rows());
  if (_form == form::dense) { return frozen_floats(_dense, {rows, static_cast<py::ssize_t>(_dense.width(0))}); }
  py::list all;
  for (size_t row = 0; row < features.rows(); ++row)
  {
    auto one = kept(row);
    all.append(_form == form::sparse ? as_dict(one) : one);
  }
  return std::move(all);
}

row_reader::row_reader(const name_hash& names, std::string noun)
    : _names(names)
    , _noun(std::move(noun))
    , _hash_of_zero(names("0"))
    , _seen((names.mask >> 6) + 1)
    , _used_when_asked(std::min<size_t>(512, (names.mask + 1) / 8))
{
  _numbers_follow = names("7") == _hash_of_zero + 7 && names("123456") == _hash_of_zero + 123456;
}

encoded_rows row_reader::one(const py::handle& given) const { return read(given, {/*one=*/true, ALL}); }

encoded_rows row_reader::all(const py::handle& given) const { return read(given, {/*one=*/false, ALL}); }

encoded_rows row_reader::row_of(const py::handle& given, py::ssize_t row) const
{
  return read(given, {/*one=*/false, row});
}

encoded_rows row_reader::read(const py::handle& given, const request& wanted) const
{
  encoded_rows rows;
  if (read_quickly(given, wanted, rows)) { return rows; }
  const py::object plain = python().canonical(given, _noun, wanted.one);
  rows = encoded_rows();
  if (!read_quickly(plain, wanted, rows))
  {
    const auto count =
        py::hasattr(plain, "shape") ? py::object(plain.attr("shape")[py::int_(0)]) : py::int_(py::len(plain));
    check_action(static_cast<size_t>(wanted.row), count.cast<size_t>());
    throw std::logic_error("a table was read neither quickly nor slowly");
  }
  return rows;
}

void row_reader::check_action(size_t action, size_t count)
{
  if (action < count) { return; }
  throw py::value_error("action " + std::to_string(action) + " is unknown; the event has " + std::to_string(count) +
                        " actions, counted from 0.");
}

bool row_reader::read_quickly(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  return read_dense(given, wanted, rows) || read_dicts(given, wanted, rows) || read_sparse(given, wanted, rows) ||
         read_columns(given, wanted, rows);
}

bool row_reader::read_dense(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  if (!is_plain(given, wanted.one ? 1 : 2)) { return false; }
  const auto array = py::reinterpret_borrow<py::array>(given);
  const auto width = static_cast<size_t>(array.shape(array.ndim() - 1));
  const auto count = wanted.one ? 1 : static_cast<size_t>(array.shape(0));
  if (wanted.row != ALL && static_cast<size_t>(wanted.row) >= count) { return false; }
  rows.columns = py::int_(width);
  rows._table = table_of(width);
  rows.features = feature_rows::dense(array.data(), is_double(array), count, width, wanted.one ? 0 : array.strides(0),
      array.strides(array.ndim() - 1), rows._table->data());
  if (wanted.row != ALL) { rows.features = rows.features.alone(static_cast<size_t>(wanted.row)); }
  rows._form = encoded_rows::form::dense;
  rows._source = array;
  rows._dense = rows.features;
  const bool finite = rows.features.is_finite();
  if (!finite && !_marks_missing) { python().refuse_value(given, _noun); }
  // Where numbers do not lie in line (--hash all), every form has its features in the order of their hashes.
  if (!finite || !_numbers_follow) { place_dense(rows); }
  return true;
}

// An array whose rows say themselves where each value lies, as those do in which values are missing.
void row_reader::place_dense(encoded_rows& rows) const
{
  const auto given = rows.features;
  rows._offsets.push_back(0);
  for (size_t row = 0; row < given.rows(); ++row)
  {
    size_t column = 0;
    given.for_each_or_zero(row,
        [&](uint64_t, float value)
        {
          if (std::isnan(value)) { add_missing(std::to_string(column), rows); }
          else if (std::isinf(value)) { python().refuse_value(rows._source, _noun); }
          else if (value != 0.f) { rows._row.emplace_back(hash_of_column(column), value); }
          ++column;
        });
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*doubles=*/false, rows._offsets.size() - 1,
      rows._offsets.data(), as_written{rows._places.data()});
}

bool row_reader::read_sparse(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  std::optional<sparse_parts> parts;
  size_t width = 0;
  if (wanted.one && is_sparse_row(given))
  {
    const auto pair = py::reinterpret_borrow<py::tuple>(given);
    const py::object values = pair[0];
    if (!py::isinstance<py::array>(values)) { return false; }
    parts = parts_of(values, pair[1], {0, static_cast<int64_t>(py::len(values))});
    width = py::isinstance<py::int_>(_columns) ? _columns.cast<size_t>() : SIZE_MAX;
    if (!parts || !parts->is_sound(width)) { python().refuse_value(given, _noun); }
  }
  else if (is_sparse_matrix(given))
  {
    const auto shape = py::tuple(given.attr("shape"));
    if (shape.size() != 2) { return false; }
    width = shape[1].cast<size_t>();
    rows.columns = shape[1];
    const auto count = shape[0].cast<py::ssize_t>();
    if (wanted.one && count != 1) { return false; }
    parts = parts_of_matrix(given, count, wanted.row);
    if (!parts || !parts->is_sound(width)) { return false; }
    if (!rows.columns.equal(_columns)) { python().check_columns(_noun, rows.columns, known_columns()); }
  }
  else { return false; }
  rows._form = encoded_rows::form::sparse;
  rows._source = py::reinterpret_borrow<py::object>(given);
  rows._first = static_cast<size_t>(std::max<py::ssize_t>(wanted.row, 0));
  if (!take_sparse(*parts, rows)) { place_sparse(*parts, given, rows); }
  return true;
}

// Reads a sparse matrix where it lies; false where its entries need a closer look.
bool row_reader::take_sparse(const sparse_parts& parts, encoded_rows& rows) const
{
  if (!_numbers_follow) { return false; }
  rows._offsets = parts.offsets;
  rows._owners = py::make_tuple(parts.values, parts.columns);
  const auto in_line_from = [&](const auto* columns)
  {
    using column = std::remove_cv_t<std::remove_pointer_t<decltype(columns)>>;
    return feature_rows::sparse(parts.values.data(), is_double(parts.values), rows._offsets.size() - 1,
        rows._offsets.data(), in_line<column>{columns, static_cast<uint32_t>(_hash_of_zero), _names.mask});
  };
  const void* const columns = parts.columns.data();
  rows.features = parts.wide() ? in_line_from(static_cast<const int64_t*>(columns))
                               : in_line_from(static_cast<const int32_t*>(columns));
  if (!rows.features.is_finite())
  {
    rows._owners = py::object();
    return false;
  }
  for (size_t row = 0; row < rows.features.rows(); ++row)
  {
    rows.features.for_each_or_zero(row, [this](uint64_t place, float) { use(place); });
  }
  return true;
}

void row_reader::place_sparse(const sparse_parts& parts, const py::handle& given, encoded_rows& rows) const
{
  rows._offsets.assign(1, 0);
  for (size_t row = 0; row + 1 < parts.offsets.size(); ++row)
  {
    for (auto i = parts.offsets[row]; i < parts.offsets[row + 1]; ++i)
    {
      const auto value = parts.value(i);
      const auto column = static_cast<uint64_t>(parts.column(i));
      if (std::isfinite(value))
      {
        if (value != 0.f) { rows._row.emplace_back(hash_of_column(column), value); }
      }
      else if (std::isnan(value) && _marks_missing) { add_missing(std::to_string(column), rows); }
      else { python().refuse_value(given, _noun); }
    }
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*doubles=*/false, rows._offsets.size() - 1,
      rows._offsets.data(), as_written{rows._places.data()});
}

bool row_reader::read_dicts(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  PyObject* const object = given.ptr();
  const bool listed = !wanted.one && PyList_CheckExact(object) != 0;
  if (!listed && (!wanted.one || PyDict_CheckExact(object) == 0)) { return false; }
  const auto count = listed ? PyList_GET_SIZE(object) : 1;
  if (count == 0 || wanted.row >= count) { return false; }
  const auto first = std::max<py::ssize_t>(wanted.row, 0);
  const auto end = wanted.row == ALL ? count : first + 1;
  rows._form = encoded_rows::form::dicts;
  rows._source = py::reinterpret_borrow<py::object>(given);
  rows._first = static_cast<size_t>(first);
  rows._offsets.push_back(0);
  for (auto row = first; row < end; ++row)
  {
    // A list may change while its entries are read: their methods are Python.
    if (listed && row >= PyList_GET_SIZE(object)) { return false; }
    const auto dict = py::reinterpret_borrow<py::object>(listed ? PyList_GET_ITEM(object, row) : object);
    if (PyDict_CheckExact(dict.ptr()) == 0) { return false; }
    const auto entries = py::reinterpret_steal<py::list>(PyDict_Items(dict.ptr()));
    for (const auto& entry : entries)
    {
      add_named(PyTuple_GET_ITEM(entry.ptr(), 0), PyTuple_GET_ITEM(entry.ptr(), 1), listed ? row : ALL, rows);
    }
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*doubles=*/false, rows._offsets.size() - 1,
      rows._offsets.data(), as_written{rows._places.data()});
  return true;
}

// A frame's columns: names, and for each its numbers (NaN is missing), or codes (-1 is missing) and the words they
// stand for.
bool row_reader::read_columns(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  if (!py::isinstance(given, python().columns)) { return false; }
  const auto count = py::len(given);
  if (wanted.row >= static_cast<py::ssize_t>(count)) { return false; }
  rows.columns = given.attr("columns");
  if (!rows.columns.equal(_columns)) { python().check_columns(_noun, rows.columns, _columns); }
  struct column
  {
    std::string name;
    uint64_t hash;
    const double* numbers;
    const int64_t* codes;
    std::vector<uint64_t> words;
  };
  std::vector<column> columns;
  std::vector<py::object> owners;
  for (const auto& one : given.attr("content"))
  {
    const py::object name = one.attr("name");
    column next{text_of(name, "the column"), 0, nullptr, nullptr, {}};
    next.hash = _names(next.name);
    const py::object words = one.attr("words");
    const py::object entries = one.attr("entries");
    owners.push_back(entries);
    if (words.is_none()) { next.numbers = py::reinterpret_borrow<doubles>(entries).data(); }
    else
    {
      next.codes = py::reinterpret_borrow<indices>(entries).data();
      for (const auto& word : words) { next.words.push_back(_names(next.name + "=" + text_of(word, "the category"))); }
    }
    const py::object kind = one.attr("kind");
    if (!kind.is_none()) { check_kind(name, kind, rows); }
    columns.push_back(std::move(next));
  }
  const auto first = static_cast<size_t>(std::max<py::ssize_t>(wanted.row, 0));
  rows._form = encoded_rows::form::columns;
  rows._source = py::reinterpret_borrow<py::object>(given);
  rows._first = first;
  rows._offsets.push_back(0);
  for (size_t row = first; row < (wanted.row == ALL ? count : first + 1); ++row)
  {
    for (const auto& column : columns)
    {
      const bool missing = column.codes != nullptr ? column.codes[row] < 0 : std::isnan(column.numbers[row]);
      if (missing) { add_missing(column.name, rows); }
      else if (column.codes != nullptr)
      {
        rows._row.emplace_back(column.words[static_cast<size_t>(column.codes[row])], 1.f);
      }
      else if (static_cast<float>(column.numbers[row]) != 0.f)
      {
        rows._row.emplace_back(column.hash, static_cast<float>(column.numbers[row]));
      }
    }
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*doubles=*/false, rows._offsets.size() - 1,
      rows._offsets.data(), as_written{rows._places.data()});
  return true;
}

// The columns, or else the names that dictionaries had.
py::object row_reader::known_columns() const
{
  if (!_columns.is_none() || _kinds.empty()) { return _columns; }
  return py::tuple(py::list(_kinds));
}

// Whether rows may have this name: any, until an array or a frame has fixed the columns.
bool row_reader::is_known_name(const py::object& key, const std::string& name) const
{
  if (_columns.is_none()) { return true; }
  if (!py::isinstance<py::int_>(_columns)) { return _known_names.contains(key); }
  const bool number = !name.empty() && name.size() < 19 &&
                      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number && std::stoull(name) < _columns.cast<uint64_t>();
}

// What a dictionary says of one name: `name` with a number, or the feature `name=value` with a string, as one writes
// them in VW's text.
void row_reader::add_named(const py::handle& key, const py::handle& value, py::ssize_t row, encoded_rows& rows) const
{
  const py::object name_object =
      PyUnicode_CheckExact(key.ptr()) != 0 ? py::reinterpret_borrow<py::object>(key) : py::object(py::str(key));
  const auto name = text_of(name_object, "the name");
  if (!is_known_name(name_object, name))
  {
    python().check_columns(_noun, py::make_tuple(name_object), _columns, false);
  }
  if (value.is_none())
  {
    add_missing(name, rows);
    return;
  }
  if (PyUnicode_Check(value.ptr()) != 0)
  {
    check_kind(name_object, python().text, rows);
    rows._row.emplace_back(_names(name + "=" + text_of(value, "the text")), 1.f);
    return;
  }
  const auto where = row == ALL ? std::string() : "row " + std::to_string(row) + " of " + _noun + ": ";
  const auto number = number_of(name, value, where);
  if (!number)
  {
    add_missing(name, rows);
    return;
  }
  check_kind(name_object, python().number, rows);
  if (static_cast<float>(*number) != 0.f) { rows._row.emplace_back(_names(name), static_cast<float>(*number)); }
}

void row_reader::add_missing(const std::string& name, encoded_rows& rows) const
{
  if (_marks_missing) { rows._row.emplace_back(_names(name + "=missing"), 1.f); }
}

void row_reader::check_kind(const py::handle& key, const py::object& kind, encoded_rows& rows) const
{
  PyObject* known = PyDict_GetItemWithError(_kinds.ptr(), key.ptr());
  if (known == nullptr && rows.kinds) { known = PyDict_GetItemWithError(rows.kinds.ptr(), key.ptr()); }
  if (known == nullptr)
  {
    if (_kinds.size() + (rows.kinds ? rows.kinds.size() : 0) >= MOST_KINDS) { return; }
    if (!rows.kinds) { rows.kinds = py::dict(); }
    rows.kinds[key] = kind;
    return;
  }
  if (known == kind.ptr() || py::handle(known).equal(kind)) { return; }
  const bool now_text = kind.equal(python().text);
  throw py::value_error(_noun + " have " + (now_text ? "text" : "a number") + " for " +
                        py::repr(key).cast<std::string>() + ", which was " + (now_text ? "a number" : "text") +
                        " before; expected the same kind. Convert it first, for example with " +
                        (now_text ? "float()." : "str()."));
}

// Sorts the features of a row and adds them to the others. In one order whatever the order of names was, so that sums
// are rounded alike: that of hashes, which is that of numbers where names are the numbers of columns.
void row_reader::end_row(encoded_rows& rows) const
{
  auto& row = rows._row;
  const auto before = [](const auto& x, const auto& y) { return x.first < y.first; };
  if (!std::is_sorted(row.begin(), row.end(), before)) { std::stable_sort(row.begin(), row.end(), before); }
  for (const auto& [hash, value] : row)
  {
    const auto place = hash & _names.mask;
    use(place);
    rows._places.push_back(place);
    rows._values.push_back(value);
  }
  rows._offsets.push_back(static_cast<int64_t>(rows._values.size()));
  row.clear();
}

void row_reader::use(uint64_t place) const
{
  auto& word = _seen[place >> 6];
  const auto bit = uint64_t{1} << (place & 63);
  if ((word & bit) != 0) { return; }
  word |= bit;
  ++_used;
}

bool row_reader::has_grown()
{
  if (_used < 2 * _used_when_asked) { return false; }
  _used_when_asked = _used;
  return true;
}

uint64_t row_reader::hash_of_column(uint64_t column) const
{
  // VW's hashes have 32 bits.
  return _numbers_follow ? static_cast<uint32_t>(_hash_of_zero + column) : _names(std::to_string(column));
}

std::shared_ptr<const column_table> row_reader::table_of(size_t width) const
{
  if (_table && _table->size() == width) { return _table; }
  const py::int_ given(width);
  if (!given.equal(_columns)) { python().check_columns(_noun, given, known_columns()); }
  column_table table(width);
  for (size_t column = 0; column < width; ++column) { table[column] = hash_of_column(column) & _names.mask; }
  return std::make_shared<const column_table>(std::move(table));
}

void row_reader::remember(const encoded_rows& rows)
{
  if (rows.kinds)
  {
    for (const auto& [name, kind] : rows.kinds) { _kinds[name] = kind; }
  }
  if (!_columns.is_none() || rows.columns.is_none()) { return; }
  set_columns(rows.columns, _kinds);
  if (rows._table) { _table = rows._table; }
  if (py::isinstance<py::int_>(_columns))
  {
    const auto width = _columns.cast<size_t>();
    if (rows._form == encoded_rows::form::dense) { _used = std::max(_used, width); }
  }
}

void row_reader::set_columns(const py::object& columns, const py::dict& kinds)
{
  _columns = columns;
  _kinds = kinds;
  _known_names = py::isinstance<py::tuple>(columns) ? py::set(columns) : py::set();
}
}  // namespace vw_fastcb

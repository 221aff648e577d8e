#include "row_reader.h"

#include "frame_column.h"
#include "python_values.h"
#include "sparse_parts.h"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace vw_fastcb
{
namespace
{
// Kinds are remembered of so many names. Dictionaries may have any number of them, such as the words of texts.
constexpr size_t MOST_KINDS = 4096;

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

encoded_rows row_reader::one(const py::handle& given) const { return read(given, {/*one=*/true, ALL_ROWS}); }

encoded_rows row_reader::all(const py::handle& given) const { return read(given, {/*one=*/false, ALL_ROWS}); }

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
  if (wanted.row != ALL_ROWS && static_cast<size_t>(wanted.row) >= count) { return false; }
  rows.columns = py::int_(width);
  rows._table = table_of(width);
  rows.features = feature_rows::dense(array.data(), is_double(array), count, width, wanted.one ? 0 : array.strides(0),
      array.strides(array.ndim() - 1), rows._table->data());
  if (wanted.row != ALL_ROWS) { rows.features = rows.features.alone(static_cast<size_t>(wanted.row)); }
  rows._form = encoded_rows::form::dense;
  rows._source = array;
  rows._dense = rows.features;
  const bool is_finite = rows.features.is_finite();
  if (!is_finite && !_marks_missing) { python().refuse_value(given, _noun); }
  // Where numbers do not lie in line (--hash all), every form has its features in the order of their hashes.
  if (!is_finite || !_numbers_follow) { place_dense(rows); }
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
  rows.features = feature_rows::sparse(rows._values.data(), /*is_double=*/false, rows._offsets.size() - 1,
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
  rows.features = feature_rows::sparse(rows._values.data(), /*is_double=*/false, rows._offsets.size() - 1,
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
  const auto end = wanted.row == ALL_ROWS ? count : first + 1;
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
      add_named(PyTuple_GET_ITEM(entry.ptr(), 0), PyTuple_GET_ITEM(entry.ptr(), 1), listed ? row : ALL_ROWS, rows);
    }
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*is_double=*/false, rows._offsets.size() - 1,
      rows._offsets.data(), as_written{rows._places.data()});
  return true;
}

bool row_reader::read_columns(const py::handle& given, const request& wanted, encoded_rows& rows) const
{
  if (!py::isinstance(given, python().columns)) { return false; }
  const auto count = py::len(given);
  if (wanted.row >= static_cast<py::ssize_t>(count)) { return false; }
  rows.columns = given.attr("columns");
  if (!rows.columns.equal(_columns)) { python().check_columns(_noun, rows.columns, _columns); }
  std::vector<frame_column> columns;
  std::vector<py::object> owners;
  for (const auto& column : given.attr("content"))
  {
    owners.push_back(column.attr("entries"));
    columns.push_back(read_column(column, _names));
    const py::object kind = column.attr("kind");
    if (!kind.is_none()) { check_kind(py::object(column.attr("name")), kind, rows); }
  }
  const auto first = static_cast<size_t>(std::max<py::ssize_t>(wanted.row, 0));
  rows._form = encoded_rows::form::columns;
  rows._source = py::reinterpret_borrow<py::object>(given);
  rows._first = first;
  rows._offsets.push_back(0);
  for (size_t row = first; row < (wanted.row == ALL_ROWS ? count : first + 1); ++row)
  {
    for (const auto& column : columns)
    {
      if (column.is_missing(row)) { add_missing(column.name, rows); }
      else if (const auto feature = column.feature(row); feature.second != 0.f) { rows._row.push_back(feature); }
    }
    end_row(rows);
  }
  rows.features = feature_rows::sparse(rows._values.data(), /*is_double=*/false, rows._offsets.size() - 1,
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
  const auto where = row == ALL_ROWS ? std::string() : "row " + std::to_string(row) + " of " + _noun + ": ";
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

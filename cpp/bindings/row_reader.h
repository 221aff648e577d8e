// What a row of features is: the one place that knows. Arrays, scipy's sparse rows, dictionaries and the columns of a
// frame become rows that the engine reads; anything else is first turned into one of these by Python's
// vw_fastcb.learner.rows. Rows are checked against the columns and kinds that were seen before.
#pragma once

#include "learner/array_learner.h"
#include "learner/feature_rows.h"
#include "numpy_rows.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vw_fastcb
{
using column_table = std::vector<uint64_t>;

struct sparse_parts;

// Rows as the engine reads them, what keeps them alive, and what they say about columns.
class encoded_rows
{
public:
  encoded_rows() = default;
  encoded_rows(encoded_rows&&) = default;
  encoded_rows& operator=(encoded_rows&&) = default;
  encoded_rows(const encoded_rows&) = delete;
  encoded_rows& operator=(const encoded_rows&) = delete;

  feature_rows features;
  py::object columns = py::none();                                 // a width, names, or None where rows may have any
  py::dict kinds = py::reinterpret_steal<py::dict>(py::handle());  // of names that were not known before

  // A plain copy of one row, or of all: what a decision keeps to be learned from later. An array of float32, a pair
  // (values, columns), or a dictionary.
  py::object kept(size_t row) const;
  py::object all_kept() const;

private:
  friend class row_reader;
  sparse_parts sparse_row(size_t row) const;
  enum class form
  {
    dense,
    sparse,
    dicts,
    columns
  };

  form _form = form::dense;
  py::object _source;   // what was given, in one of the forms above
  size_t _first = 0;    // its row that `features` begins with
  feature_rows _dense;  // an array as it was given, also where its missing values were marked
  py::object _owners;   // of arrays that are read where they are
  std::shared_ptr<const column_table> _table;
  std::vector<float> _values;
  std::vector<uint64_t> _places;
  std::vector<int64_t> _offsets;
  std::vector<std::pair<uint64_t, float>> _row;  // the features of the row at hand, by hash
};

// Reads the rows of one namespace. The interpreter is held throughout.
class row_reader
{
public:
  // `noun` is what errors call the rows.
  row_reader(const name_hash& names, std::string noun);

  // Whether a value that is missing is a feature of its own, and not a zero.
  void mark_missing(bool marks) { _marks_missing = marks; }

  encoded_rows one(const py::handle& given) const;                      // a single row, such as a context
  encoded_rows all(const py::handle& given) const;                      // a table
  encoded_rows row_of(const py::handle& given, py::ssize_t row) const;  // a row of a table; the others are not read

  // Raises where a table of actions does not have this one.
  static void check_action(size_t action, size_t count);

  // From now on these are the columns: the first good call fixes them.
  void remember(const encoded_rows& rows);

  const py::object& columns() const { return _columns; }
  const py::dict& kinds() const { return _kinds; }
  void set_columns(const py::object& columns, const py::dict& kinds);

  // Where the feature with a name lies among VW's weights. Names of an array's columns are their numbers.
  uint64_t place_of(const std::string& name) const { return _names(name) & _names.mask; }

  // How many different features were seen, and whether that number has doubled since this was last asked.
  size_t used() const { return _used; }
  bool has_grown();

private:
  struct request
  {
    bool one;         // the rows are a single one, which may have one dimension less
    py::ssize_t row;  // the row to read; -1 for all of them
  };

  encoded_rows read(const py::handle& given, const request& wanted) const;
  bool read_quickly(const py::handle& given, const request& wanted, encoded_rows& rows) const;
  bool read_dense(const py::handle& given, const request& wanted, encoded_rows& rows) const;
  bool read_sparse(const py::handle& given, const request& wanted, encoded_rows& rows) const;
  bool read_dicts(const py::handle& given, const request& wanted, encoded_rows& rows) const;
  bool read_columns(const py::handle& given, const request& wanted, encoded_rows& rows) const;
  bool take_sparse(const sparse_parts& parts, encoded_rows& rows) const;
  void place_sparse(const sparse_parts& parts, const py::handle& given, encoded_rows& rows) const;
  void place_dense(encoded_rows& rows) const;

  void add_named(const py::handle& key, const py::handle& value, py::ssize_t row, encoded_rows& rows) const;
  void add_missing(const std::string& name, encoded_rows& rows) const;
  void check_kind(const py::handle& key, const py::object& kind, encoded_rows& rows) const;
  bool is_known_name(const py::object& key, const std::string& name) const;
  py::object known_columns() const;
  void end_row(encoded_rows& rows) const;

  std::shared_ptr<const column_table> table_of(size_t width) const;
  uint64_t hash_of_column(uint64_t column) const;
  void use(uint64_t place) const;

  name_hash _names;
  std::string _noun;
  bool _marks_missing = false;
  bool _numbers_follow;  // names that are numbers lie one after another
  uint64_t _hash_of_zero;
  py::object _columns = py::none();
  py::dict _kinds;
  py::set _known_names;                        // of a frame's columns
  std::shared_ptr<const column_table> _table;  // of arrays of the known width
  mutable std::vector<uint64_t> _seen;         // a bit for each place
  mutable size_t _used = 0;
  size_t _used_when_asked;
};
}  // namespace vw_fastcb

// A matrix of features as numpy or scipy hold it, read row by row in place: dense with any strides, or compressed
// sparse rows. Its form is looked at once per call, and not for each value. Zeros are not features, as in VW's text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace vw_fastcb
{
// Dense rows. `index_of_column` says where each column lies among VW's weights.
template <typename Value>
struct dense_form
{
  const char* first = nullptr;
  size_t columns = 0;
  ptrdiff_t row_bytes = 0;
  ptrdiff_t column_bytes = 0;
  const uint64_t* index_of_column = nullptr;

  size_t width(size_t) const { return columns; }
  const char* start(size_t row) const { return first + static_cast<ptrdiff_t>(row) * row_bytes; }
  void skip(size_t rows) { first += static_cast<ptrdiff_t>(rows) * row_bytes; }

  template <typename Visit>
  void visit(size_t row, Visit work) const
  {
    with_values(row,
        [&, columns = columns, index_of_column = index_of_column](const Value* values, auto apart)
        {
          for (size_t i = 0; i < columns; ++i)
          {
            work(index_of_column[i], static_cast<float>(values[static_cast<ptrdiff_t>(i) * apart]));
          }
        });
  }

  // Calls work(values, distance between two).
  template <typename Work>
  void with_values(size_t row, Work work) const
  {
    const auto* const values = reinterpret_cast<const Value*>(start(row));
    constexpr auto size = static_cast<ptrdiff_t>(sizeof(Value));
    // Values that are known to be neighbours are handled several at once.
    if (column_bytes == size) { work(values, std::integral_constant<ptrdiff_t, 1>()); }
    else { work(values, column_bytes / size); }
  }
};

// Where the entries of sparse rows lie among VW's weights: by their column in a table; at (first_hash + column) & mask;
// or as each says itself.
struct by_table
{
  const int64_t* column_of;
  const uint64_t* index_of_column;
  uint64_t operator()(int64_t entry) const { return index_of_column[column_of[entry]]; }
};
template <typename Column>
struct in_line
{
  const Column* column_of;
  uint32_t first_hash;
  uint64_t mask;
  uint64_t operator()(int64_t entry) const
  {
    return static_cast<uint32_t>(first_hash + static_cast<int64_t>(column_of[entry])) & mask;
  }
};
struct as_written
{
  const uint64_t* index_of;
  uint64_t operator()(int64_t entry) const { return index_of[entry]; }
};

// Sparse rows. `offsets` has an entry more than rows; the values of row r lie from offsets[r] to offsets[r + 1].
template <typename Value, typename Places>
struct sparse_form
{
  const Value* values;
  const int64_t* offsets;
  Places places;

  size_t width(size_t row) const { return static_cast<size_t>(offsets[row + 1] - offsets[row]); }
  const char* start(size_t row) const { return reinterpret_cast<const char*>(values + offsets[row]); }
  void skip(size_t rows) { offsets += rows; }

  template <typename Visit>
  void visit(size_t row, Visit work) const
  {
    // A copy: what a visitor writes could change the original, as far as a compiler knows.
    const sparse_form here = *this;
    const int64_t end = here.offsets[row + 1];
    for (int64_t i = here.offsets[row]; i < end; ++i) { work(here.places(i), static_cast<float>(here.values[i])); }
  }
};

class feature_rows
{
public:
  feature_rows() = default;

  template <typename Form>
  feature_rows(const Form& form, size_t rows) : _form(form)
                                              , _rows(rows)
  {
  }

  static feature_rows dense(const void* data, bool is_double, size_t rows, size_t columns, ptrdiff_t row_bytes,
      ptrdiff_t column_bytes, const uint64_t* index_of_column)
  {
    const auto* const first = static_cast<const char*>(data);
    if (is_double) { return {dense_form<double>{first, columns, row_bytes, column_bytes, index_of_column}, rows}; }
    return {dense_form<float>{first, columns, row_bytes, column_bytes, index_of_column}, rows};
  }

  template <typename Places>
  static feature_rows sparse(
      const void* data, bool is_double, size_t rows, const int64_t* offsets, const Places& places)
  {
    if (is_double) { return {sparse_form<double, Places>{static_cast<const double*>(data), offsets, places}, rows}; }
    return {sparse_form<float, Places>{static_cast<const float*>(data), offsets, places}, rows};
  }

  size_t rows() const { return _rows; }

  // A row by itself.
  feature_rows alone(size_t row) const
  {
    feature_rows left = *this;
    left._rows = 1;
    std::visit([row](auto& form) { form.skip(row); }, left._form);
    return left;
  }

  // How many values a row may have.
  size_t width(size_t row) const
  {
    return std::visit([row](const auto& form) { return form.width(row); }, _form);
  }

  // Calls visit(index, value) for every value of a row that is not zero.
  template <typename Visit>
  void for_each(size_t row, Visit visit) const
  {
    for_each_or_zero(row,
        [&visit](uint64_t index, float value)
        {
          if (value != 0.f) { visit(index, value); }
        });
  }

  // Calls visit(index, value) for every value of a row that is held, zeros among them.
  template <typename Visit>
  void for_each_or_zero(size_t row, Visit visit) const
  {
    std::visit([row, &visit](const auto& form) { form.visit(row, visit); }, _form);
  }

  // Writes the values of a row that are not zero, and where they lie times `room`. Returns how many there are.
  size_t copy_row(size_t row, uint64_t room, float* values, uint64_t* indices) const
  {
    size_t count = 0;
    // A zero is overwritten by the next value: no branch to be mistaken about.
    for_each_or_zero(row,
        [=, &count](uint64_t index, float value)
        {
          values[count] = value;
          indices[count] = index * room;
          count += value != 0.f ? 1 : 0;
        });
    return count;
  }

  // Brings the start of a row near; what follows it, processors bring by themselves. Rows in random order come from far
  // away: fetched one after the other, they are waited for together. (A prefetch instruction is no help: where the page
  // is not known, either, it is dropped.)
  void fetch(size_t row) const
  {
    const auto size = std::visit([](const auto& form) { return value_size(form); }, _form);
    const size_t bytes = std::min<size_t>(width(row) * size, 512);
    if (bytes == 0) { return; }
    const char* const start = std::visit([row](const auto& form) { return form.start(row); }, _form);
    for (size_t at = 0; at < bytes; at += 64) { read(start + at); }
    read(start + bytes - 1);  // a row need not begin where a line of the cache does
  }

  // Reads a byte for the sake of the cache.
  static void read(const void* byte) { (void)*static_cast<const volatile char*>(byte); }

  // Whether every value is a finite number in single precision.
  bool is_finite() const;

  // Of dense rows: all values in single precision, one after another, and whether they are the same as others.
  void copy_to(float* out) const;
  bool equals(const float* others) const;

private:
  template <typename Value>
  static size_t value_size(const dense_form<Value>&)
  {
    return sizeof(Value);
  }
  template <typename Value, typename Places>
  static size_t value_size(const sparse_form<Value, Places>&)
  {
    return sizeof(Value);
  }

  std::variant<dense_form<float>, dense_form<double>, sparse_form<float, by_table>, sparse_form<double, by_table>,
      sparse_form<float, in_line<int32_t>>, sparse_form<double, in_line<int32_t>>, sparse_form<float, in_line<int64_t>>,
      sparse_form<double, in_line<int64_t>>, sparse_form<float, as_written>, sparse_form<double, as_written>>
      _form;
  size_t _rows = 0;
};

// The actions of many events: event i has the rows first[i] to first[i + 1] of `features`, or all of them where `first`
// is missing and every event has the same actions.
struct action_sets
{
  feature_rows features;
  const int64_t* first = nullptr;

  size_t begin(size_t event) const { return first != nullptr ? static_cast<size_t>(first[event]) : 0; }
  size_t count(size_t event) const
  {
    return first != nullptr ? static_cast<size_t>(first[event + 1] - first[event]) : features.rows();
  }
};
}  // namespace vw_fastcb

#include "oracle/column_row.h"
#include "unit_tests.h"

#include <map>
#include <random>

using vw_fastcb::column_row;
using vw_fastcb::row_moments;

namespace
{
using sparse_row = std::map<uint32_t, float>;
constexpr size_t COLUMNS = 12;

void set(column_row& row, const sparse_row& values)
{
  std::vector<uint32_t> columns;
  std::vector<uint32_t> places;
  std::vector<float> numbers;
  for (const auto& [column, value] : values)
  {
    columns.push_back(column);
    places.push_back(static_cast<uint32_t>(numbers.size()));
    numbers.push_back(value);
  }
  row.set(COLUMNS, columns, places, numbers.data());
}

void expect_row(const column_row& row, const sparse_row& values)
{
  EXPECT_EQUAL(row.present().size(), values.size());
  for (uint32_t column = 0; column < COLUMNS; ++column)
  {
    const auto known = values.find(column);
    EXPECT_EQUAL(row.values()[column], known == values.end() ? 0. : double{known->second});
  }
}

// Of every third row the columns are others than those of the row before.
std::vector<sparse_row> rows_of(uint32_t seed, size_t count, bool are_alike)
{
  std::mt19937 rng(seed);
  std::vector<sparse_row> rows(count);
  for (size_t i = 0; i < count; ++i)
  {
    for (uint32_t column = 0; column < COLUMNS; ++column)
    {
      const bool is_here = column % 3 == (are_alike || i % 3 != 2 ? 0 : 1);
      if (is_here) { rows[i][column] = static_cast<float>(rng() % 1000) / 100.f; }
    }
  }
  return rows;
}

void expect_moments(const vw_fastcb::moments& together, const std::vector<sparse_row>& rows)
{
  EXPECT_EQUAL(together.weight, static_cast<double>(rows.size()));
  for (uint32_t column = 0; column < COLUMNS; ++column)
  {
    const auto value = [column](const sparse_row& row) { return row.count(column) > 0 ? double{row.at(column)} : 0.; };
    double mean = 0.;
    for (const auto& row : rows) { mean += value(row) / static_cast<double>(rows.size()); }
    double squares = 0.;
    for (const auto& row : rows) { squares += (value(row) - mean) * (value(row) - mean); }
    EXPECT_NEAR(together.means()[column], mean, 1e-9);
    EXPECT_NEAR(together.squares()[column], squares, 1e-7);
  }
}
}  // namespace

UNIT_TEST(a_row_has_its_own_values_whatever_the_row_before_had)
{
  column_row row;
  for (const auto& values : {sparse_row{{0, 1.f}, {5, 2.f}}, sparse_row{{0, 3.f}, {5, 4.f}}, sparse_row{{5, 6.f}},
           sparse_row{}, sparse_row{{1, 7.f}, {2, 8.f}}})
  {
    set(row, values);
    expect_row(row, values);
  }
  row.start(COLUMNS);
  EXPECT(row.add(3, 1.));
  EXPECT(!row.add(3, 1.5));
  expect_row(row, {{3, 2.5f}});
  set(row, {{3, 1.f}});
  expect_row(row, {{3, 1.f}});
}

UNIT_TEST(rows_together_are_what_they_are_one_by_one)
{
  row_moments together;
  column_row row;
  for (const bool are_alike : {true, false, true})
  {
    for (const size_t count : {1, 2, 3, 10})
    {
      const auto rows = rows_of(static_cast<uint32_t>(count), count, are_alike);
      for (const auto& values : rows)
      {
        set(row, values);
        together.add(row);
      }
      expect_moments(together.take(COLUMNS), rows);
    }
  }
}

UNIT_TEST(moments_do_not_depend_on_whether_rows_are_alike_in_columns_that_nobody_asks_for)
{
  // To the last bit: the last row, with one column more, ends what is done for several columns at a time.
  auto rows = rows_of(7, 9, true);
  row_moments alike;
  row_moments others;
  column_row row;
  for (size_t i = 0; i < rows.size(); ++i)
  {
    set(row, rows[i]);
    alike.add(row);
    auto more = rows[i];
    if (i % 2 == 1) { more[11] = 1.f; }
    set(row, more);
    others.add(row);
  }
  const auto& first = alike.take(COLUMNS);
  const auto& second = others.take(COLUMNS);
  for (size_t column = 0; column < 11; ++column)
  {
    EXPECT_EQUAL(first.means()[column], second.means()[column]);
    EXPECT_EQUAL(first.squares()[column], second.squares()[column]);
  }
}

UNIT_TEST(no_rows_have_no_moments)
{
  row_moments together;
  EXPECT_EQUAL(together.take(COLUMNS).weight, 0.);
}

#include "oracle/moments.h"
#include "unit_tests.h"

#include <random>

using vw_fastcb::moments;

namespace
{
struct weighted_row
{
  std::vector<double> values;
  double weight;
};

std::vector<weighted_row> rows_of(uint32_t seed, size_t count)
{
  std::mt19937 rng(seed);
  std::vector<weighted_row> rows(count);
  for (auto& row : rows)
  {
    for (int i = 0; i < 3; ++i) { row.values.push_back(static_cast<double>(rng() % 1000) / 100.); }
    row.weight = 1. + static_cast<double>(rng() % 3);
  }
  return rows;
}

void expect_moments(const moments& own, const std::vector<weighted_row>& rows, double share = 1.)
{
  double weight = 0.;
  for (const auto& row : rows) { weight += row.weight; }
  EXPECT_NEAR(own.weight, weight * share, 1e-9);
  for (size_t column = 0; column < own.columns(); ++column)
  {
    double mean = 0.;
    for (const auto& row : rows) { mean += row.weight * row.values[column] / weight; }
    double squares = 0.;
    for (const auto& row : rows) { squares += row.weight * (row.values[column] - mean) * (row.values[column] - mean); }
    EXPECT_NEAR(own.means()[column], mean, 1e-9);
    EXPECT_NEAR(own.squares()[column], squares * share, 1e-6);
  }
}

moments of(const std::vector<weighted_row>& rows)
{
  moments own;
  own.resize(3);
  for (const auto& row : rows) { own.add(row.values.data(), row.weight); }
  return own;
}
}  // namespace

UNIT_TEST(moments_are_those_of_all_rows) { expect_moments(of(rows_of(1, 50)), rows_of(1, 50)); }

UNIT_TEST(moments_of_two_parts_are_those_of_the_whole_and_can_be_taken_apart)
{
  auto whole = of(rows_of(1, 50));
  const auto part = of(rows_of(2, 30));
  auto rows = rows_of(1, 50);
  whole.add(part, part.weight);
  for (const auto& row : rows_of(2, 30)) { rows.push_back(row); }
  expect_moments(whole, rows);
  whole.remove(part);
  expect_moments(whole, rows_of(1, 50));
}

UNIT_TEST(faded_moments_count_less_and_are_where_they_were)
{
  auto own = of(rows_of(3, 40));
  own.fade(.25);
  expect_moments(own, rows_of(3, 40), .25);
}

UNIT_TEST(a_new_column_was_0_in_every_row)
{
  auto own = of(rows_of(4, 20));
  own.resize(4);
  EXPECT_EQUAL(own.means()[3], 0.);
  EXPECT_EQUAL(own.squares()[3], 0.);
}

#include "moments.h"

#include <algorithm>
#include <cmath>

namespace vw_fastcb
{
void moments::resize(size_t columns)
{
  _means.resize(columns, 0.);
  _squares.resize(columns, 0.);
}

// Welford's algorithm: no difference of large sums.
void moments::add(const double* row, double row_weight)
{
  weight += row_weight;
  const double share = row_weight / weight;
  double* const means = _means.data();
  double* const squares = _squares.data();
  for (size_t i = 0, count = columns(); i < count; ++i)
  {
    const double distance = row[i] - means[i];
    means[i] += share * distance;
    squares[i] += row_weight * distance * (row[i] - means[i]);
  }
}

// Chan's formula.
void moments::add(const moments& rows, double rows_weight)
{
  if (!(rows_weight > 0.)) { return; }
  const double before = weight;
  weight += rows_weight;
  const double share = rows_weight / weight;
  const double between = before * share;
  const double scale = rows_weight / rows.weight;
  double* const means = _means.data();
  double* const squares = _squares.data();
  const double* const other_means = rows._means.data();
  const double* const other_squares = rows._squares.data();
  const size_t known = std::min(columns(), rows.columns());
  for (size_t i = 0; i < known; ++i)
  {
    const double distance = other_means[i] - means[i];
    means[i] += distance * share;
    squares[i] += other_squares[i] * scale + distance * distance * between;
  }
  for (size_t i = known; i < columns(); ++i)
  {
    const double distance = -means[i];
    means[i] += distance * share;
    squares[i] += distance * distance * between;
  }
}

void moments::remove(const moments& rows)
{
  const double left = weight - rows.weight;
  for (size_t i = 0; i < columns(); ++i)
  {
    const bool known = i < rows.columns();
    const double mean = known ? rows._means[i] : 0.;
    const double mean_left = left > 0. ? _means[i] + (_means[i] - mean) * (rows.weight / left) : 0.;
    const double distance = mean - mean_left;
    const double between = left > 0. ? distance * distance * left * (rows.weight / weight) : 0.;
    _squares[i] = left > 0. ? std::max(0., _squares[i] - (known ? rows._squares[i] : 0.) - between) : 0.;
    _means[i] = mean_left;
  }
  weight = std::max(0., left);
}

void moments::fade(double share)
{
  weight *= share;
  for (auto& squares : _squares) { squares *= share; }
}

void moments::scales(double* factors) const
{
  constexpr double ROUNDING = 1e-6;
  const double share = weight > 0. ? 1. / weight : 0.;
  const double* const means = _means.data();
  const double* const squares = _squares.data();
  for (size_t i = 0, count = columns(); i < count; ++i)
  {
    const double deviation = std::sqrt(squares[i] * share);
    const double factor = 1. / deviation;
    factors[i] = deviation > ROUNDING * std::fabs(means[i]) ? factor : 0.;
  }
}
}  // namespace vw_fastcb

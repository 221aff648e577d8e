#include "newton_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

// This file is compiled with fused multiply-add (CMakeLists.txt).

namespace vw_fastcb
{
namespace
{
using doubles = double __attribute__((vector_size(DOUBLES_AT_ONCE * sizeof(double))));

doubles load(const double* from)
{
  doubles loaded;
  std::memcpy(&loaded, from, sizeof(loaded));
  return loaded;
}

void store(double* to, doubles values) { std::memcpy(to, &values, sizeof(values)); }

double total(doubles sums) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

constexpr size_t ROWS_AT_ONCE = DOUBLES_AT_ONCE;

template <typename Number>
std::array<Number*, ROWS_AT_ONCE> rows_from(Number* first, size_t stride)
{
  return {first, first + stride, first + 2 * stride, first + 3 * stride};
}

// Sums whose total is the product of a row with each of several rows of a square matrix. Each part of `row` is read
// once for all of them.
struct row_products
{
  row_products(const double* first, size_t stride, const double* row)
  {
    const auto rows = rows_from<const double>(first, stride);
    for (size_t j = 0; j < stride; j += DOUBLES_AT_ONCE)
    {
      const doubles part = load(row + j);
      for (size_t k = 0; k < ROWS_AT_ONCE; ++k) { sums[k] += load(rows[k] + j) * part; }
    }
  }
  doubles sums[ROWS_AT_ONCE] = {};
};

double dot(const double* x, const double* y, size_t count)
{
  doubles even{};
  doubles odd{};
  size_t i = 0;
  for (; i + 2 * DOUBLES_AT_ONCE <= count; i += 2 * DOUBLES_AT_ONCE)
  {
    even += load(x + i) * load(y + i);
    odd += load(x + i + DOUBLES_AT_ONCE) * load(y + i + DOUBLES_AT_ONCE);
  }
  if (i < count) { even += load(x + i) * load(y + i); }
  return total(even + odd);
}
}  // namespace

void newton_weights::grow(const std::vector<double>& priors, size_t most_full)
{
  if (_columns == priors.size()) { return; }
  const size_t full = std::min(priors.size(), most_full);
  if (full != _full)
  {
    const size_t stride = padded(full);
    std::vector<double> covariance(stride * stride, 0.);
    for (size_t i = 0; i < _full; ++i)
    {
      std::copy_n(_covariance.begin() + static_cast<std::ptrdiff_t>(i * _stride), _full,
          covariance.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
    for (size_t i = _full; i < full; ++i) { covariance[i * stride + i] = 1. / priors[i]; }
    _covariance = std::move(covariance);
    _full = full;
    _stride = stride;
  }
  _weights.resize(padded(priors.size()), 0.);
  _direction.resize(_weights.size(), 0.);
  _variances.resize(_weights.size(), 0.);
  for (size_t i = std::max(_stride, _columns); i < priors.size(); ++i) { _variances[i] = 1. / priors[i]; }
  _columns = priors.size();
}

double newton_weights::score(const double* row) const { return dot(_weights.data(), row, _weights.size()); }

double newton_weights::variance_of(const double* row) const
{
  const size_t stride = _stride;
  doubles all{};
  for (size_t i = 0; i < _full; i += ROWS_AT_ONCE)
  {
    const row_products products(_covariance.data() + i * stride, stride, row);
    for (size_t k = 0; k < ROWS_AT_ONCE; ++k) { all += products.sums[k] * row[i + k]; }
  }
  for (size_t i = stride; i < _weights.size(); i += DOUBLES_AT_ONCE)
  {
    const doubles part = load(row + i);
    all += load(&_variances[i]) * part * part;
  }
  return std::max(0., total(all));
}

newton_step newton_weights::begin_step(const double* row) { return {*this, find_direction(row)}; }

double newton_weights::find_direction(const double* row)
{
  const size_t stride = _stride;
  double* const direction = _direction.data();
  for (size_t i = 0; i < _full; i += ROWS_AT_ONCE)
  {
    const row_products products(_covariance.data() + i * stride, stride, row);
    for (size_t k = 0; k < ROWS_AT_ONCE; ++k) { direction[i + k] = total(products.sums[k]); }
  }
  for (size_t i = stride; i < _direction.size(); i += DOUBLES_AT_ONCE)
  {
    store(direction + i, load(&_variances[i]) * load(row + i));
  }
  const double sum = dot(direction, row, _direction.size());
  if (sum > 0.) { return sum; }
  std::fill(_direction.begin(), _direction.end(), 0.);  // nothing but rounding, along which a step may go anywhere
  return 0.;
}

void newton_weights::move(double by, double shrinkage)
{
  const double factor = std::sqrt(shrinkage);  // of both sides: products stay symmetric to the last bit
  const size_t count = _weights.size();
  const size_t stride = _stride;
  double* const direction = _direction.data();
  for (size_t i = 0; i < count; i += DOUBLES_AT_ONCE)
  {
    const doubles part = load(direction + i);
    store(&_weights[i], load(&_weights[i]) - by * part);
    store(direction + i, factor * part);
  }
  for (size_t i = 0; i < _full; i += ROWS_AT_ONCE)
  {
    const auto rows = rows_from<double>(_covariance.data() + i * stride, stride);
    doubles own[ROWS_AT_ONCE];
    for (size_t k = 0; k < ROWS_AT_ONCE; ++k) { own[k] = doubles{} - direction[i + k]; }
    for (size_t j = 0; j < stride; j += DOUBLES_AT_ONCE)
    {
      const doubles part = load(direction + j);
      for (size_t k = 0; k < ROWS_AT_ONCE; ++k) { store(rows[k] + j, own[k] * part + load(rows[k] + j)); }
    }
  }
  for (size_t i = stride; i < count; i += DOUBLES_AT_ONCE)
  {
    const doubles part = load(direction + i);
    store(&_variances[i], load(&_variances[i]) - part * part);
  }
}

void newton_weights::fade(double share, const std::vector<double>& priors)
{
  // Both sides of the covariance are scaled, so that it stays one.
  for (size_t i = 0; i < _full; ++i)
  {
    const double most = 1. / priors[i];
    const double own = covariance(i, i);
    _direction[i] = std::sqrt(own > share * most ? most / own : 1. / share);
  }
  for (size_t i = 0; i < _full; ++i)
  {
    double* const row = _covariance.data() + i * _stride;
    for (size_t j = 0; j < _full; ++j) { row[j] *= _direction[i] * _direction[j]; }
  }
  for (size_t i = _stride; i < _columns; ++i) { _variances[i] = std::min(1. / priors[i], _variances[i] / share); }
}

namespace
{
// What is left of a column's precision and of its weight, relative to the precision there is then.
struct remainder
{
  remainder(double kept, double prior, double variance) : precision(1. / (kept + (1. - kept) * prior * variance)) {}
  double precision;  // before, as a share of that after
};
}  // namespace

void newton_weights::forget(double kept, const std::vector<double>& priors)
{
  for (size_t i = 0; i < _columns; ++i)
  {
    const remainder left(kept, priors[i], own_variance(i));
    _weights[i] *= kept * left.precision;
    _direction[i] = std::sqrt(left.precision);
    if (i >= _stride) { _variances[i] *= left.precision; }
  }
  for (size_t i = 0; i < _full; ++i)
  {
    double* const row = _covariance.data() + i * _stride;
    for (size_t j = 0; j < _full; ++j) { row[j] *= _direction[i] * _direction[j]; }
  }
}

double newton_weights::score_after(double kept, const std::vector<double>& priors, const double* row) const
{
  double sum = 0.;
  for (size_t i = 0; i < _columns; ++i)
  {
    sum += row[i] * _weights[i] * kept * remainder(kept, priors[i], own_variance(i)).precision;
  }
  return sum;
}

double newton_weights::own_variance_after(double kept, const std::vector<double>& priors, size_t column) const
{
  const double variance = own_variance(column);
  return variance * remainder(kept, priors[column], variance).precision;
}

double newton_weights::variance_after(double kept, const std::vector<double>& priors, const double* row) const
{
  std::vector<double> grown(_weights.size(), 0.);
  for (size_t i = 0; i < _columns; ++i)
  {
    grown[i] = row[i] * std::sqrt(remainder(kept, priors[i], own_variance(i)).precision);
  }
  return variance_of(grown.data());
}

void newton_weights::write(byte_writer& out) const
{
  out.add(static_cast<uint64_t>(_columns));
  for (size_t i = 0; i < _columns; ++i)
  {
    out.add(_weights[i]);
    if (i >= _full) { out.add(_variances[i]); }
    for (size_t j = 0; i < _full && j <= i; ++j) { out.add(covariance(i, j)); }
  }
}

void newton_weights::read(byte_reader& in, const std::vector<double>& priors, size_t most_full)
{
  const auto columns = in.next<uint64_t>();
  if (columns > priors.size()) { throw std::invalid_argument("the oracle's state has too many weights"); }
  grow({priors.begin(), priors.begin() + static_cast<std::ptrdiff_t>(columns)}, most_full);
  for (size_t i = 0; i < columns; ++i)
  {
    _weights[i] = in.next<double>();
    if (i >= _full) { _variances[i] = in.next<double>(); }
    for (size_t j = 0; i < _full && j <= i; ++j) { set_covariance(i, j, in.next<double>()); }
  }
}

void newton_weights::set_covariance(size_t row, size_t column, double value)
{
  _covariance[row * _stride + column] = value;
  _covariance[column * _stride + row] = value;
}
}  // namespace vw_fastcb

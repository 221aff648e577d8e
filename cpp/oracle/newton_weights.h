// The weights of one logistic regression and their covariance: the second-order oracle's linear algebra.
#pragma once

#include <cstddef>
#include <vector>

namespace vw_fastcb
{
// Rows that are read in whole registers: as many doubles as fill them, the last ones 0.
constexpr size_t DOUBLES_AT_ONCE = 4;
constexpr size_t padded(size_t count) { return (count + DOUBLES_AT_ONCE - 1) / DOUBLES_AT_ONCE * DOUBLES_AT_ONCE; }

class newton_weights
{
public:
  size_t columns() const { return _columns; }

  // New columns have weight 0 and the variance 1 / prior.
  void grow(const std::vector<double>& priors);

  // The weighted sum of a row, which may have more columns than this: padded, as all rows here.
  double score(const double* row) const;

  // Forgets: the covariance grows by 1 / share, but never beyond that of the prior.
  void fade(double share, const std::vector<double>& priors);

  // The first half of a step: the variance of the score of a row with the same columns.
  double variance(const double* row);

  // The second half. A curvature of 0 changes no covariance.
  void step(double by, double shrinkage);

  double weight(size_t column) const { return _weights[column]; }
  double covariance(size_t row, size_t column) const { return _covariance[row * _stride + column]; }
  void set_weight(size_t column, double value) { _weights[column] = value; }
  void set_covariance(size_t row, size_t column, double value);

private:
  size_t _columns = 0;
  size_t _stride = 0;
  std::vector<double> _weights;
  std::vector<double> _covariance;  // a square of _columns rows, _stride apart; symmetric to the last bit
  std::vector<double> _direction;   // of the step at hand: covariance times row
};
}  // namespace vw_fastcb

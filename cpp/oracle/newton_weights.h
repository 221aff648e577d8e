// The weights of one logistic regression and what is known of them: the second-order oracle's linear algebra.
#pragma once

#include "state_bytes.h"

#include <cstddef>
#include <vector>

namespace vw_fastcb
{
// Rows that are read in whole registers: as many doubles as fill them, the last ones 0.
constexpr size_t DOUBLES_AT_ONCE = 4;
constexpr size_t padded(size_t count) { return (count + DOUBLES_AT_ONCE - 1) / DOUBLES_AT_ONCE * DOUBLES_AT_ONCE; }

class newton_step;

// The first columns have a full covariance. Those from the next multiple of DOUBLES_AT_ONCE on have a variance each, as
// if they were independent; between the two there is nothing.
class newton_weights
{
public:
  size_t columns() const { return _columns; }

  // How many columns have a full covariance.
  size_t full() const { return _full; }

  // New columns have weight 0 and the variance 1 / prior. At most `most_full` have a full covariance.
  void grow(const std::vector<double>& priors, size_t most_full);

  // The weighted sum of a row, which may have more columns than this: padded, as all rows here.
  double score(const double* row) const;

  // How unsure it is of that sum.
  double variance_of(const double* row) const;

  // Forgets: the covariance grows by 1 / share, but never beyond that of the prior.
  void fade(double share, const std::vector<double>& priors);

  // Forgets: what is known counts `kept` of what it did, and the rest is the prior again, the weight 0 included.
  // Columns forget each by itself, as if there were no others.
  void forget(double kept, const std::vector<double>& priors);

  // The sum of a row, and how unsure it is, as they would be after that.
  double score_after(double kept, const std::vector<double>& priors, const double* row) const;
  double variance_after(double kept, const std::vector<double>& priors, const double* row) const;
  double own_variance_after(double kept, const std::vector<double>& priors, size_t column) const;

  void write(byte_writer& out) const;
  void read(byte_reader& in, const std::vector<double>& priors, size_t most_full);

  // A step on a row with the same columns. Only one can be under way.
  newton_step begin_step(const double* row);

  double weight(size_t column) const { return _weights[column]; }
  void set_weight(size_t column, double value) { _weights[column] = value; }

  // Of two of the first columns, or of one of the others.
  double covariance(size_t row, size_t column) const { return _covariance[row * _stride + column]; }
  void set_covariance(size_t row, size_t column, double value);
  double variance(size_t column) const { return _variances[column]; }
  void set_variance(size_t column, double value) { _variances[column] = value; }

private:
  friend class newton_step;

  double find_direction(const double* row);
  double own_variance(size_t column) const
  {
    return column < _full ? covariance(column, column) : column < _stride ? 0. : _variances[column];
  }
  void move(double by, double shrinkage);

  size_t _columns = 0;
  size_t _full = 0;
  size_t _stride = 0;
  std::vector<double> _weights;
  std::vector<double> _covariance;  // a square of _stride rows; symmetric to the last bit
  std::vector<double> _variances;   // of the columns from _stride on
  std::vector<double> _direction;   // of the step under way: covariance times row
};

// A step in two halves, because how far it goes depends on the variance.
class newton_step
{
public:
  newton_step(newton_weights& weights, double variance) : variance(variance), _weights(weights) {}

  const double variance;  // of the row's score

  // The weights move, and what the row has shown makes the covariance smaller.
  void take(double by, double shrinkage) { _weights.move(by, shrinkage); }

private:
  newton_weights& _weights;
};
}  // namespace vw_fastcb

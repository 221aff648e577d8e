// Running means and deviations of columns.
#pragma once

#include <cstddef>
#include <vector>

namespace vw_fastcb
{
// All columns have been seen equally often: where a row lacks a column, its value there is 0.
class moments
{
public:
  size_t columns() const { return _means.size(); }

  // New columns were 0 in every row so far.
  void resize(size_t columns);

  // One row.
  void add(const double* row, double weight);

  // The rows of another one, which has no more columns, as if they had `weight` in all.
  void add(const moments& rows, double weight);

  // The contrary: what is left without rows that were added earlier.
  void remove(const moments& rows);

  // Rows seen so far count only `share` of what they counted.
  void fade(double share);

  // The factor that gives each column the deviation 1; 0 where it does not vary, rounding aside.
  void scales(double* factors) const;

  double weight = 0.;  // of all rows
  const std::vector<double>& means() const { return _means; }
  const std::vector<double>& squares() const { return _squares; }
  void set_column(size_t column, double mean, double squares)
  {
    _means[column] = mean;
    _squares[column] = squares;
  }

private:
  std::vector<double> _means;
  std::vector<double> _squares;  // weighted sums of squared distances from the mean
};
}  // namespace vw_fastcb

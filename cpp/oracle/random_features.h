// Random Fourier features (Rahimi and Recht 2007): cosines of random directions, in which a linear regression sees
// curves and interactions. They stand for a Gaussian kernel on standardised columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class random_features
{
public:
  static constexpr size_t COUNT = 100;  // by evidence; see benchmarks/science/README.md

  random_features();

  size_t columns() const { return _columns; }

  // A column's directions depend on its name alone: learners that know the same columns have the same features.
  void add_column(uint64_t name);

  // Fills in COUNT features of a row of standardised values.
  void of(const double* row, double* features) const;

private:
  size_t _columns = 0;
  std::vector<double> _directions;  // COUNT of each column
  std::vector<double> _phases;
};
}  // namespace vw_fastcb

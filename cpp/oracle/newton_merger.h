// What several second-order learners know, put together as if one had seen all their events.
#pragma once

#include "newton_block.h"

#include <vector>

namespace vw_fastcb
{
class matrix;

// Each of them may have started from `base`, which may be null: what that one knew counts once. Knowledge is added up
// as information (the inverse of the covariance), after each learner's standardised columns were translated to those of
// the merged one. Columns that have only a variance are merged one by one.
class newton_merger
{
public:
  static newton_block merged(const std::vector<const newton_block*>& models, const newton_block* base);

private:
  // How the columns of one learner appear among those of the merged one.
  struct translation
  {
    const newton_block* from;
    const newton_block* base;     // what it knows of this one is left out, if it is not null
    std::vector<size_t> columns;  // of the merged one, for each of `from`
  };

  static void merge_columns(newton_block& to, std::vector<translation>& parts);
  static void merge_moments(newton_block& to, const std::vector<translation>& parts);
  static void merge_slot(newton_block& to, const std::vector<translation>& parts, size_t slot);
  static void add_information(const translation& part, const newton_block& to, size_t slot, matrix& precision,
      std::vector<double>& precision_alone, std::vector<double>& sums);
};
}  // namespace vw_fastcb

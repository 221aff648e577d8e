// One pass over a multiclass data set, row after row straight from the arrays: as a bandit, which names a class and
// learns only whether it was right, or with the labels seen. Results are those of VW's command line on the same data.
#pragma once

#include "learner/feature_rows.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
struct multiclass_rows
{
  feature_rows features;
  const int64_t* labels = nullptr;  // of each row, from 0
  const int64_t* order = nullptr;   // the rows to play, one after another
  size_t count = 0;                 // of `order`

  void fetch(size_t row) const
  {
    features.fetch(row);
    feature_rows::read(labels + row);
  }
};

enum class feedback
{
  AS_FLAGS_SAY,  // a label for VW's multiclass learners, the cost of the class that was named for bandits
  EVERY_LABEL    // also for the second-order oracle, which then learns the cost of every class; no command line does
};

// `arguments` are VW's flags for learning from bandit feedback (without --cbify) or from multiclass labels.
// losses[i] is 1 where the class named in round i was wrong.
void run_multiclass_pass(const std::vector<std::string>& arguments, const multiclass_rows& data, uint32_t classes,
    feedback shown, uint8_t* losses);
}  // namespace vw_fastcb

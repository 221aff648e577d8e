// VW counts what it has learned apart from learning, in what its driver does with a finished example. Step sizes
// (--sgd, --power_t, --initial_t) and the weights of merged models depend on these counts, so whoever calls `learn`
// without the driver must advance them. VW's reports are left alone: loss and number of features stay 0.
#pragma once

#include "vw/core/global_data.h"
#include "vw/core/shared_data.h"

namespace vw_fastcb
{
inline void advance_clock(VW::workspace& all, float weight)
{
  all.sd->update(/*test_example=*/false, /*labeled_example=*/true, /*loss=*/0.f, weight, /*num_features=*/0);
}
}  // namespace vw_fastcb

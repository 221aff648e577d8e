#include "regressor.h"

#include <stdexcept>

namespace vw_fastcb
{
void regressor::learn_all(event&, const std::vector<float>&)
{
  throw std::invalid_argument("this oracle learns one outcome at a time, and not those of all actions");
}

void regressor::score_limits(event&, double, std::vector<float>&, std::vector<float>&)
{
  throw std::invalid_argument("this oracle does not know how sure it is of a prediction");
}
}  // namespace vw_fastcb

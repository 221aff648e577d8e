// Opens cpp/allocation's sigmoids to tests/python/test_sigmoids.py.
#include "allocation/allocation.h"

extern "C" void sigmoids(const float* logits, size_t count, double* probabilities)
{
  vw_fastcb::sigmoids(logits, count, probabilities);
}

// The scores of VW's linear regressor (gd) for all weight slots of one example, computed as gd's predict computes each,
// bit for bit, in one pass over the features and their interactions. VW's own pass, multipredict, leaves out features
// and products below 1e-10, which gd learns from. tests/python/test_scorers.py compares the two.
#pragma once

#include "vw/core/example.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <vector>

namespace vw_fastcb
{
class slot_scorer
{
public:
  explicit slot_scorer(VW::workspace& all) : _all(&all) {}

  // The scores of `count` weight slots, `step` apart, before VW's bounds.
  void score(VW::example& ec, size_t step, float* scores, size_t count);

  // A feature's value and where its weights begin.
  struct term
  {
    float value;
    const float* weights;
  };

private:
  void find_terms(VW::example& ec);

  VW::workspace* _all;
  std::vector<term> _terms;
};
}  // namespace vw_fastcb

// The scores of VW's plain linear regressor (gd with neither interactions nor l1), computed as gd computes them, bit
// for bit, without a walk through VW's learner stack for every action. On `letter` by cbify, 26 actions, a round costs
// 0.91 of the instructions for actions with features, 0.85 for fixed ones. tests/python/test_linear_scorer.py compares
// the two ways.
#pragma once

#include "vw/core/example.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <vector>

namespace vw_fastcb
{
class linear_scorer
{
public:
  explicit linear_scorer(VW::workspace& all);

  // Whether gd would do nothing but add up weights for this example.
  bool applies(const VW::example& ec) const;

  float score(VW::example& ec) const;

  // The scores of `count` weight slots that lie `step` apart.
  void score_slots(VW::example& ec, size_t step, float* logits, size_t count);

  // A feature's value and where its weights begin.
  struct term
  {
    float value;
    const float* weights;
  };

private:
  // Lists the terms of an example's scores; false where the `width` floats of one go round the end of the table.
  bool find_terms(const VW::example& ec, size_t width);
  void add_one_by_one(const VW::example& ec, size_t step, float initial, float* logits, size_t count) const;

  VW::workspace* _all;
  bool _only_adds;  // as far as flags can tell
  std::vector<term> _terms;
};
}  // namespace vw_fastcb

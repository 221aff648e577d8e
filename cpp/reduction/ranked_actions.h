// Actions in order of preference, with their probabilities. Users of VW's explorers expect this order, and sums over
// probabilities are rounded in it: the same logits give the same probabilities, bit for bit.
#pragma once

#include "explorer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class ranked_actions
{
public:
  // The best action comes first; ties keep their order.
  void rank(explorer& explorer, const scores& known)
  {
    const size_t count = known.size();
    _ranked.resize(count);
    const auto& logits = known.to_allocate();
    for (uint32_t a = 0; a < count; ++a) { _ranked[a] = {logits[a], a}; }
    std::sort(_ranked.begin(), _ranked.end(), [&explorer](const scored& x, const scored& y)
        { return explorer.better(x.logit, y.logit) || (x.logit == y.logit && x.action < y.action); });
    _in_order.clear();
    for (const auto& next : _ranked) { _in_order.add(known, next.action); }
    explorer.allocate(_in_order, _pmf);
  }

  size_t size() const { return _ranked.size(); }
  uint32_t action(size_t rank) const { return _ranked[rank].action; }
  float probability(size_t rank) const { return static_cast<float>(_pmf[rank]); }  // VW's predictions are floats
  double exact_probability(size_t rank) const { return _pmf[rank]; }

private:
  struct scored
  {
    float logit;
    uint32_t action;
  };
  // Kept between events: nothing is allocated per action.
  std::vector<scored> _ranked;
  scores _in_order;
  std::vector<double> _pmf;
};
}  // namespace vw_fastcb

// Vovk's aggregating rule for log loss: forecasters are weighted by how likely they made what happened, and the
// mixture's loss is at most the logarithm of their number above that of the best one. With a fixed share, a part of the
// weight is spread anew after every event, so that the mixture follows when another one becomes the best (Herbster and
// Warmuth 1998).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vw_fastcb
{
class mixture
{
public:
  explicit mixture(size_t members);

  const std::vector<double>& weights() const { return _weights; }
  void set_weights(std::vector<double> weights) { _weights = std::move(weights); }

  // What the members' logits say together, as a logit.
  double logit_of(const std::vector<double>& logits) const;

  // The members predicted an outcome in [0,1] with these logits.
  void learn(const std::vector<double>& logits, double outcome, double weight);

private:
  std::vector<double> _weights;
  std::vector<double> _losses;
};
}  // namespace vw_fastcb

// VW's own learner below the reduction as a regressor: --fastcb_oracle gd. Usually that is gd, one linear regression,
// whose scores are computed here in fewer instructions than VW takes; but any regressor of VW's will do (--nn, --coin).
#pragma once

#include "regressor.h"
#include "slot_scorer.h"
#include "split_scorer.h"

#include "vw/core/example.h"
#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <vector>

namespace vw_fastcb
{
class gd : public regressor
{
public:
  // `below` is the learner under VW's scorer: its scores need neither the scorer's link nor its loss.
  gd(VW::workspace& all, VW::LEARNER::learner& below);

  void score(event& of, std::vector<float>& logits) override;
  double learn(event& of, size_t action, float outcome) override;
  void explain(std::vector<explained_term>& terms, size_t slots) override;

private:
  void score_slots(event& of, std::vector<float>& logits);
  bool can_split(const event& of) const;
  void split_scores(event& of, std::vector<float>& logits);

  // VW's own predictions for an example with all its features.
  float predict(VW::example& ec);
  void predict_slots(VW::example& ec, std::vector<float>& logits);

  // From sums of weights to what VW predicts from them: contracted (l2) and within its bounds.
  void to_predictions(std::vector<float>& sums) const;

  VW::workspace* _all;
  VW::LEARNER::learner* _below;
  bool _is_linear;  // it does nothing but add up weights
  bool _prints;     // --audit, --invert_hash: VW writes down the features that it predicts from
  slot_scorer _slot_scorer;
  split_scorer _split_scorer;
  std::vector<VW::polyprediction> _predictions;  // kept from event to event
};
}  // namespace vw_fastcb

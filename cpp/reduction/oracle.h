// FastCB's view of VW's learner stack: a regressor under log loss that scores actions, and what turns its scores into
// probabilities. The two front doors share it.
#pragma once

#include "explanation.h"
#include "fastcb_options.h"
#include "model_state.h"
#include "oracle/newton_regressor.h"
#include "slot_scorer.h"
#include "split_scorer.h"
#include "strict/cost_range.h"
#include "strict/labels.h"

#include "vw/config/options.h"
#include "vw/core/example.h"
#include "vw/core/interactions.h"
#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vw_fastcb
{
class oracle
{
public:
  oracle(const fastcb_options& options, VW::workspace& all);

  // Builds the learners below the reduction. VW's scorer must be the topmost: anything else would come between the
  // probabilities and the regressor.
  std::shared_ptr<VW::LEARNER::learner> set_up_base(VW::setup_base_i& stack_builder, size_t feature_width = 1);

  // The logits of actions with their own features. The features of the line `shared`, which may be null, belong to
  // every action.
  void score_actions(const VW::example* shared, VW::multi_ex& actions, std::vector<float>& logits);

  // The same for features outside VW examples, if can_score_spans: start with the shared features, then score one
  // action after another. Every value must be finite.
  bool can_score_spans() const;
  void start_event(const feature_spans& shared);
  float score(const feature_spans& own);

  // The logits of the weight slots of one example, as many as `logits` has.
  void score_slots(VW::example& ec, std::vector<float>& logits);

  // What adds up to the logits of as many slots, before they are bounded. The features of the line `shared`, which may
  // be null, belong to the example, too. Throws where the regressor does more than add up weights.
  std::vector<explained_term> explain(const VW::example* shared, VW::example& ec, size_t slots);

  // One step towards the observed cost, with the example's own weight and no importance weight. Does nothing for
  // held-out examples (several passes). `just_scored` says that these features were the last that were scored.
  void learn(VW::example& ec, float cost, size_t slot = 0, bool just_scored = false);

  // The same for an action that also has the features of the line `shared`, which may be null.
  void learn_action(const VW::example* shared, VW::example& action, float cost);

  // Whether learning reads all actions of an event: each is to be shown, in order, before learn_action, but only where
  // there is something to learn from the chosen one.
  bool reads_all_actions() const { return _newton != nullptr; }
  void start_actions() { _newton->start_event(); }
  void see_action(const VW::example* shared, VW::example& action);
  bool can_learn_from(const VW::example& chosen) const;

  // The same, given the `logit` that score_slots has just computed for the slot: gd need not compute it again.
  void learn_scored(VW::example& ec, float cost, size_t slot, float logit);

  // Full information, for the second-order oracle: one step of every slot towards its own cost. It is one event.
  void learn_every_slot(VW::example& ec, const std::vector<float>& costs);

  // Whether the first logit belongs to a better action than the second.
  bool better(float logit, float other) const { return _for_rewards ? logit > other : logit < other; }

  // From logits to probabilities; `pmf` has as many entries as `logits`.
  void to_pmf(const std::vector<float>& logits, std::vector<double>& pmf);

  // The predictions that to_pmf last used, in the same order: losses or rewards in [0,1].
  const std::vector<double>& predictions() const { return _predictions; }

  // Where gamma has epochs, it depends on the number of actions.
  double gamma(size_t actions) const;

  size_t observed_action(const VW::multi_ex& actions) const { return vw_fastcb::observed_action(actions, _range); }
  size_t observed_action(const VW::example& ec, uint32_t count) const
  {
    return vw_fastcb::observed_action(ec, count, _range);
  }

  void save_load(VW::io_buf& io, bool read, bool text);

  // Model merging: the numbers of learned events add up, and so does the loss.
  uint64_t events() const { return _events; }
  void set_events(uint64_t events) { _events = events; }
  double loss() const { return _loss; }
  void set_loss(double loss) { _loss = loss; }

  // The weight of the events that a model has learned, or of those that it has more than its base. VW's own count
  // begins anew where a model is loaded without --preserve_performance_counters; its clock goes on.
  double weight_learned() const;

  // VW adds and subtracts the clocks of models; this does the same with what FastCB counts beside it.
  void become_difference(const oracle& model, const oracle& base);
  void merge_clocks(const std::vector<const oracle*>& models);
  void add_clocks(const oracle& base, const oracle& difference);

  // How far apart the weights of two slots are.
  size_t weights_apart() const;

  // Takes over what another one has counted, as saving and loading would.
  void continue_from(const oracle& other);

  // By which arithmetic this model learns and predicts; see model_state.h. A merged one goes on under the oldest.
  uint64_t arithmetic() const { return _arithmetic; }
  void set_arithmetic(uint64_t arithmetic);

  // What the second-order oracle knows, merged in the same way; null with VW's own regressor.
  newton_regressor* newton() { return _newton.get(); }
  const newton_regressor* newton() const { return _newton.get(); }

  // What those who made the model say of it. It goes with the model wherever that goes.
  const std::string& note() const { return _note; }
  void set_note(std::string note) { _note = std::move(note); }

private:
  // A cost as what the regressor predicts: a loss or a reward in [0,1].
  float to_outcome(float cost) const;

  // Puts the label into the example; false if there is nothing to learn.
  bool prepare_to_learn(VW::example& ec, float cost);
  void count_event(float outcome);

  // Whether _split_scorer can replace the regressor.
  bool can_split(const VW::multi_ex& actions) const;
  void split_scores(const VW::example* shared, const VW::multi_ex& actions, std::vector<float>& logits);

  // VW's own prediction for an example with all its features.
  float predict(VW::example& ec);
  void newton_scores(VW::example& ec, std::vector<float>& logits);

  // Runs `work` on an example whose interactions are those that VW's regressor would see.
  template <typename Work>
  void with_interactions(VW::example& ec, Work work);
  void predict_slots(VW::example& ec, std::vector<float>& logits);

  // From sums of weights to what VW predicts from them: contracted (l2) and within its bounds. The first tells whether
  // they are that already, which is nearly always so.
  bool are_predictions(const std::vector<float>& sums) const;
  float to_prediction(float sum) const;

  // Sets VW's loss and prediction bounds to log loss on [0,1]. Neither is kept in a model.
  void use_log_loss();

  void set_up_newton(const VW::config::options_i& options);

  // A bound on what the regressor loses under log loss: what was given, or an estimate.
  double regret() const;

  // The predictions as the rules take them, into `taken`: with epochs no surer than the events so far allow.
  void take_predictions(std::vector<double>& taken) const;

  VW::workspace* _all;
  VW::LEARNER::learner* _scorer = nullptr;
  VW::LEARNER::learner* _regressor = nullptr;  // below the scorer: scores need neither its link nor its loss
  bool _is_linear = false;                     // the regressor is gd and does nothing but add up weights
  bool _prints = false;  // --audit, --invert_hash: VW writes down the features that it predicts from
  std::unique_ptr<newton_regressor> _newton;            // in place of the regressor, if asked for
  VW::interactions_generator* _interactions = nullptr;  // VW's, which finds out what ':' stands for in -q ::
  slot_scorer _slot_scorer;
  split_scorer _split_scorer;
  feature_spans _shared_spans;  // kept from event to event, as are the next two
  feature_spans _own_spans;
  std::vector<VW::polyprediction> _slots;
  std::vector<float> _one_logit;
  cost_range _range;
  double _gamma_scale;
  double _gamma_exponent;
  bool _epochs;
  double _regret;
  double _epsilon;
  bool _second_order;
  size_t _capacity;
  double _memory;
  bool _for_rewards;
  bool _for_both;
  bool _plain_igw;
  uint64_t _events = 0;
  double _loss = 0.;  // of the learned events, in [0,1] each; the reward, where the regressor predicts rewards
  double _unlabelled_before =
      0.;  // the weight of unlabelled events that VW's clock still counts since a model was loaded
  bool _is_difference = false;
  std::vector<double> _predictions;
  std::string _note;
  uint64_t _arithmetic = ARITHMETIC;
};
}  // namespace vw_fastcb

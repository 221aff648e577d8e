// FastCB between VW's learner stack and its oracle: it scores the actions of an event, turns scores into probabilities,
// learns what was observed, and goes into models. The two front doors, and learners on arrays, share it.
#pragma once

#include "allocation/policy.h"
#include "fastcb_options.h"
#include "model_state.h"
#include "oracle/event.h"
#include "oracle/registry.h"
#include "oracle/regressor.h"
#include "strict/cost_range.h"
#include "strict/labels.h"

#include "vw/core/example.h"
#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace VW
{
namespace reductions
{
namespace details
{
class gd_per_model_state;
}
}  // namespace reductions
}  // namespace VW

namespace vw_fastcb
{
// Of all actions of an event: what is predicted, and the confidence limits from which probabilities are allocated,
// which without optimism are none.
struct scores
{
  std::vector<float> logits;
  std::vector<float> limits;

  size_t size() const { return logits.size(); }
  const std::vector<float>& to_allocate() const { return limits.empty() ? logits : limits; }
  void clear()
  {
    logits.clear();
    limits.clear();
  }
  void add(const scores& other, size_t action)
  {
    logits.push_back(other.logits[action]);
    if (!other.limits.empty()) { limits.push_back(other.limits[action]); }
  }
};

class explorer
{
public:
  explorer(const fastcb_options& options, VW::workspace& all);
  ~explorer();
  explorer(const explorer&) = delete;
  explorer& operator=(const explorer&) = delete;

  // That of a workspace, which has at most one; null where it has none.
  static explorer* of(const VW::workspace& all);

  // Builds the learners below the reduction, and the oracle. VW's scorer must be the topmost: anything else would come
  // between the probabilities and the regressor.
  std::shared_ptr<VW::LEARNER::learner> set_up_base(VW::setup_base_i& stack_builder, size_t slots = 1);

  // What is known of all actions of an event.
  void score(event& of, scores& known);

  // From scores to probabilities and, for predictions(), losses or rewards in [0,1], in the same order.
  void allocate(const scores& known, std::vector<double>& pmf);
  const std::vector<double>& predictions() const { return _predictions; }

  // Whether the first logit belongs to a better action than the second.
  bool better(float logit, float other) const { return _policy.better(logit, other); }

  double gamma(size_t actions) const { return _policy.gamma(experience_now(), actions); }

  // One step towards the observed cost, with the event's own weight and no importance weight.
  void learn(event& of, size_t action, float cost);
  void learn_all(event& of, const std::vector<float>& costs);
  bool reads_all_actions() const { return _regressor->reads_all_actions(); }

  // Whether the example counts: held-out ones (several passes) do not.
  bool can_learn_from(const VW::example& chosen) const;

  regressor& oracle() const { return *_regressor; }
  const oracle_kind& kind() const { return _kind; }

  size_t observed_action(const VW::multi_ex& actions) const { return vw_fastcb::observed_action(actions, _range); }
  size_t observed_action(const VW::example& ec, uint32_t count) const
  {
    return vw_fastcb::observed_action(ec, count, _range);
  }

  void save_load(VW::io_buf& io, bool read, bool text);

  uint64_t events() const { return _events; }  // learned

  // The weight of the events that a model has learned, or of those that it has more than its base. VW's own count
  // begins anew where a model is loaded without --preserve_performance_counters; its clock goes on.
  double weight_learned() const;

  // Merging, as VW asks for it: one model of several, what a model has learned since its base, and the two together.
  void merge(const std::vector<const explorer*>& models);
  void become_difference(const explorer& model, const explorer& base);
  void become_sum(const explorer& base, const explorer& difference);

  // Takes over what another one has learned and counted, as saving and loading would.
  void continue_from(const explorer& other);

  // By which arithmetic it learns: today's, unless it goes on with an older model, or with what was begun by one.
  uint64_t arithmetic() const { return _arithmetic; }
  void set_arithmetic(uint64_t arithmetic);

  // What the regressor knows of its step size, beside VW's table. Null where there is nothing.
  using step_states = std::vector<VW::reductions::details::gd_per_model_state>;
  void borrow_step_states(step_states& states) { _step_states = &states; }
  step_states* regressor_step_states() const { return _step_states; }

  // What those who made the model say of it. It goes with the model wherever that goes.
  const std::string& note() const { return _note; }
  void set_note(std::string note) { _note = std::move(note); }

private:
  experience experience_now() const;
  void count_event(double outcome);
  void print_features(event& of, size_t slots);

  // Sets VW's loss and prediction bounds to log loss on [0,1]. Neither is kept in a model.
  void use_log_loss();

  VW::workspace* _all;
  VW::LEARNER::learner* _scorer = nullptr;
  const oracle_kind& _kind;
  size_t _capacity;
  double _memory;
  std::string _members;
  std::unique_ptr<regressor> _regressor;
  step_states* _step_states = nullptr;
  policy _policy;
  cost_range _range;
  bool _prints = false;  // --audit, --invert_hash: VW writes down the features that it predicts from
  uint64_t _events = 0;
  double _loss = 0.;
  double _unlabelled_before =
      0.;  // the weight of unlabelled events that VW's clock still counts since a model was loaded
  bool _is_difference = false;
  std::vector<double> _predictions;
  std::string _note;
  uint64_t _arithmetic = ARITHMETIC;
};
}  // namespace vw_fastcb

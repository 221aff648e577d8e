// FastCB on rows of numbers. Nothing here knows of Python. Not safe to use from two threads at a time.
#pragma once

#include "array_event.h"
#include "feature_rows.h"
#include "oracle/explanation.h"
#include "random_draws.h"
#include "reduction/ranked_actions.h"

#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vw_fastcb
{
// VW's own hash of the feature names in a namespace, so that text input continues a model. Where a feature lies among
// the weights is said by the hash's lowest bits, those of the mask.
struct name_hash
{
  uint32_t (*hasher)(const char*, size_t, uint32_t);
  uint32_t seed;
  uint64_t mask;

  uint64_t operator()(const std::string& name) const { return hasher(name.data(), name.size(), seed); }
};

class array_learner
{
public:
  // VW's command line: --cb_explore K --fastcb, or --cb_explore_adf --fastcb, or -i and a model. A model may also be
  // given as the bytes of its file, which are read as -i would read them.
  explicit array_learner(
      const std::vector<std::string>& arguments, const std::optional<std::string_view>& model = std::nullopt);
  ~array_learner();
  array_learner(const array_learner&) = delete;
  array_learner& operator=(const array_learner&) = delete;

  // The K of --cb_explore K; 0 where actions have features.
  uint32_t fixed_actions() const { return _fixed_actions; }

  // Whether learning needs all actions of an event: VW's driver scores each event before it learns from it, and there
  // are regressors that scoring changes.
  bool scores_before_learning() const { return _scores_before_learning; }

  // Whether learning reads the features of all actions of an event, not just those of the chosen one.
  bool reads_all_actions() const;

  size_t actions_of(const action_sets& actions, size_t row) const
  {
    return _fixed_actions > 0 ? _fixed_actions : actions.count(row);
  }

  // The names of contexts, and of the features of actions.
  name_hash context_names() const;
  name_hash action_names() const;

  // How many weights an event with so many different features would use, interactions included.
  double weights_for(double context_features, double action_features) const;
  bool has_interactions() const;

  // Probabilities and predictions (losses, or rewards with --fastcb_objective reward, in [0,1]) for event `row`, in the
  // order of the actions. The arrays have as many entries as the event has actions. Where `excluded` is given, the
  // allocation runs over the actions whose entry is 0, at least one; the others have probability 0.
  void predict(const feature_rows& contexts, const action_sets& actions, size_t row, double* pmf, double* predictions,
      const uint8_t* excluded = nullptr);

  // What the logit of each action of event `row` is made of: for all fixed actions the same terms, with a weight for
  // each of them; else terms for each action. Names are a namespace and the place of a feature in it, such as x17 and
  // a3.
  std::vector<std::vector<explained_term>> explain(
      const feature_rows& contexts, const action_sets& actions, size_t row);

  // Refuses event `row` if VW's regressor would make a product of its features that is not finite. All others do so
  // first.
  void check_products(const feature_rows& contexts, const action_sets& actions, size_t row) const;

  // One step on what was observed. Throws for a bad event, and the model is as it was.
  void learn(
      const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t action, float cost, float weight);

  // One round of a simulation: predict, draw with a number in [0,1), look up the cost of the action among those of the
  // event, learn from it.
  struct outcome
  {
    uint32_t action;
    float probability;
    float cost;
  };
  outcome play(const feature_rows& contexts, const action_sets& actions, size_t row, double draw, const float* costs);

  // One logged event, judged before it is learned: the probability of the logged action, its prediction, and the mean
  // prediction under all probabilities. It is learned if the probability is above `threshold`. `excluded` is as for
  // predict.
  struct judgement
  {
    double probability;
    double prediction;
    double mean_prediction;
  };
  judgement judge(const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t action, float cost,
      float weight, double threshold, const uint8_t* excluded = nullptr);

  double gamma() const;  // of the last prediction
  std::vector<member_weight> members() const;
  uint64_t events() const;

  // By which arithmetic it learns; another one can be asked for before it has learned anything.
  uint64_t arithmetic() const;
  void use_arithmetic(uint64_t arithmetic);

  void save(const std::string& path);

  // The bytes that `save` would write.
  std::vector<char> model();

  uint32_t bits() const;

  // The flags that a model of this learner keeps, as a command line.
  std::string kept_flags() const;

  // What a model says of itself beyond its flags, for those who made it.
  const std::string& note() const;
  void set_note(const std::string& note);
  std::shared_ptr<VW::workspace> shared_workspace() { return _all; }

private:
  // Fills _scores, one for each action of the event.
  void score(const feature_rows& contexts, const action_sets& actions, size_t row);

  // From _scores to probabilities, in the order of the actions.
  void to_pmf(double* pmf, double* predictions);
  void to_pmf_without(const uint8_t* excluded, double* pmf, double* predictions);

  // One step on the event at hand.
  void learn_from_event(uint32_t action, float cost, float weight);

  std::shared_ptr<VW::workspace> _all;
  explorer* _explorer;
  uint32_t _fixed_actions;
  bool _multiplies;  // features as VW does
  bool _scores_before_learning;
  array_event _event;
  VW::example _labelled;  // what was observed, as text would have it, so that what is bad is refused alike
  scores _scores;
  ranked_actions _ranked;
  std::vector<double> _pmf;
  std::vector<size_t> _allowed;  // where actions are excluded
  std::vector<double> _allowed_pmf;
  std::vector<double> _allowed_predictions;
  std::vector<double> _round_pmf;  // of a simulated round, or of a logged event
  std::vector<double> _round_predictions;
};
}  // namespace vw_fastcb

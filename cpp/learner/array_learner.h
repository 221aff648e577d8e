// FastCB on rows of numbers: features go straight from the arrays into VW examples that are reused from round to round.
// Nothing here knows of Python. Not safe to use from two threads at a time.
#pragma once

#include "feature_rows.h"

#include "vw/core/example.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
class oracle;

// Rows of features and where each column lies among VW's weights.
struct named_rows
{
  feature_rows rows;
  const uint64_t* index_of_column = nullptr;
};

// The action sets of many events: event i has the rows first[i] to first[i + 1] of `features`.
struct action_sets
{
  named_rows features;
  const int64_t* first = nullptr;
};

class array_learner
{
public:
  // VW's command line: --cb_explore K --fastcb, or --cb_explore_adf --fastcb, or -i and a model.
  explicit array_learner(const std::vector<std::string>& arguments);
  ~array_learner();
  array_learner(const array_learner&) = delete;
  array_learner& operator=(const array_learner&) = delete;

  // The K of --cb_explore K; 0 where actions have features.
  uint32_t fixed_actions() const { return _fixed_actions; }

  // VW's own hash of feature names, so that text input continues a model.
  uint64_t index_of(char name_space, const std::string& name) const;

  // Probabilities and predictions (losses, or rewards with --fastcb_objective reward) for event `row`, in the order of
  // the actions. The arrays have as many entries as the event has actions.
  void predict(const named_rows& contexts, const action_sets& actions, size_t row, double* pmf, double* predictions);

  // One step on what was observed. Throws for a bad event, and the model is as it was.
  void learn(const named_rows& contexts, const action_sets& actions, size_t row, uint32_t action, float cost,
      float probability, float weight);

  // One round of a simulation: predict, draw with a number in [0,1), look up the cost of the action among those of the
  // event, learn from it.
  struct outcome
  {
    uint32_t action;
    float probability;
    float cost;
  };
  outcome play(const named_rows& contexts, const action_sets& actions, size_t row, double draw, const float* costs);

  double gamma() const;
  uint64_t events() const;
  void save(const std::string& path);

  // The flags that a model of this learner keeps, as a command line.
  std::string kept_flags() const;
  VW::workspace& workspace() { return *_all; }
  std::shared_ptr<VW::workspace> shared_workspace() { return _all; }

private:
  size_t prepare(const named_rows& contexts, const action_sets& actions, size_t row, float weight);
  void predict_prepared();
  void learn_prepared(uint32_t action, float cost, float probability);
  void fill(VW::example& ec, char name_space, const named_rows& features, size_t row, float weight);

  std::shared_ptr<VW::workspace> _all;
  const oracle* _oracle;
  uint32_t _fixed_actions;
  VW::example _context;
  std::vector<std::unique_ptr<VW::example>> _pool;  // the actions' examples, as many as the largest event had
  VW::multi_ex _event;
};
}  // namespace vw_fastcb

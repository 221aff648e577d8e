// Who predicts costs: the one interface of FastCB's oracles. A regressor learns, under log loss, to predict an outcome
// in [0,1] (a cost or a reward on the declared range) for each action of an event.
//
// Each implementation is a file of its own, and registry.cc knows them all. CONTRIBUTING.md shows how to add one.
#pragma once

#include "event.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
struct explained_term;

// What a model keeps of a regressor, apart from VW's table of weights.
struct regressor_state
{
  std::string bytes;              // empty where VW's table is all
  uint64_t weights_in_table = 0;  // how many weights of its own lie in VW's table
};

// Who is asked, and how much that counts.
struct member_weight
{
  std::string name;
  double weight;
};

class regressor
{
public:
  virtual ~regressor() = default;

  // The logits of all actions of an event. VW's own bounds apply.
  virtual void score(event& of, std::vector<float>& logits) = 0;

  // Whether it knows how sure it is of a logit. Then it also tells limits: logits that are `shift` deviations higher.
  virtual bool has_deviations() const { return false; }
  virtual void score_limits(event& of, double shift, std::vector<float>& logits, std::vector<float>& limits);

  // One step towards the outcome of an action. Returns the logit from which it was made.
  virtual double learn(event& of, size_t action, float outcome) = 0;

  // Full information, where actions are fixed: one step of every action towards its own outcome. It is one event.
  virtual void learn_all(event& of, const std::vector<float>& outcomes);

  // Whether learning reads the features of all actions of an event, and not just those of the chosen one.
  virtual bool reads_all_actions() const { return false; }

  // Fills in what each term adds to the logits of the slots of a line, before they are bounded; what remains is a term
  // of its own. Throws where the regressor does more than add up weights.
  virtual void explain(std::vector<explained_term>& terms, size_t slots) = 0;

  // Those of which it is made; none where it is one.
  virtual std::vector<member_weight> members() const { return {}; }

  // How many weights it has, on which its regret depends; 0 where nobody knows.
  virtual double weights() { return 0.; }

  // Saving and loading. The arithmetic is that of the model; see reduction/model_state.h.
  virtual regressor_state state() { return {}; }
  virtual void set_state(const regressor_state&) {}
  virtual void use_arithmetic(uint64_t) {}

  // Takes over what another one has learned, whose workspace may have room for fewer slots.
  virtual void continue_from(const regressor&) {}

  // Merging. Those that merge what they have in VW's table say so; VW merges the others' weights. A difference is what
  // a model has learned since it was its base.
  virtual bool merges_table() const { return false; }
  virtual void merge(const std::vector<const regressor*>&) {}
  virtual void become_difference(const regressor&, const regressor&) {}
  virtual void become_sum(const regressor&, const regressor&) {}

  // VW prints what lies in its table: the regressor puts weights there, and takes them out again.
  virtual void show_weights() {}
  virtual void hide_weights() {}
};
}  // namespace vw_fastcb

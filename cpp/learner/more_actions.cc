#include "more_actions.h"

#include "array_learner.h"
#include "reduction/explorer.h"

#include "vw/common/random.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parse_primitives.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/shared_data.h"
#include "vw/core/vw.h"

#include "fmt/format.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vw_fastcb
{
namespace
{
constexpr uint32_t MOST_BITS = 31;  // of VW

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

// The topmost learner below VW's scorer, which stands right below FastCB.
std::string regressor_name(VW::workspace& all)
{
  return all.l->get_learner_by_name_prefix("scorer")->get_base_learner()->get_name();
}

// How many actions VW makes room for: the next power of two.
uint64_t room_for(uint32_t actions)
{
  uint64_t room = 1;
  while (room < actions) { room *= 2; }
  return room;
}

// The flags of a model, with other numbers of actions and of bits.
std::vector<std::string> flags_with(const array_learner& learner, uint32_t actions, uint32_t bits)
{
  std::vector<std::string> flags;
  const auto kept = VW::split_command_line(learner.kept_flags());
  for (size_t i = 0; i < kept.size(); ++i)
  {
    if (kept[i] == "--cb_explore" || kept[i] == "--bit_precision") { ++i; }
    else { flags.push_back(kept[i]); }
  }
  flags.insert(flags.end(), {"--cb_explore", std::to_string(actions), "--bit_precision", std::to_string(bits)});
  flags.insert(flags.end(), {"--quiet", "--no_stdin"});
  return flags;
}

// A feature with the hash h has its weights from (h * room) % size on, one for each action. Where room and size grow by
// the same factor, h % (size / room) is what it was: features that had weights of their own have them still, and those
// that shared them do. Products of features are made of the lowest bits of their hashes alone.
void copy_weights(const VW::workspace& from, VW::workspace& to, uint32_t actions)
{
  const auto& old_weights = from.weights.dense_weights;
  auto& new_weights = to.weights.dense_weights;
  const auto old_room = from.reduction_state.total_feature_width;
  const auto new_room = to.reduction_state.total_feature_width;
  const auto stride = old_weights.stride();
  const auto features = (old_weights.mask() + 1) / stride / old_room;
  for (uint64_t feature = 0; feature < features; ++feature)
  {
    const auto* const first = old_weights.data() + feature * old_room * stride;
    std::copy_n(first, actions * stride, new_weights.data() + feature * new_room * stride);
  }
}
}  // namespace

std::vector<char> with_more_actions(std::string_view model, uint32_t actions, const std::string& note)
{
  array_learner before({"--quiet", "--no_stdin", "--preserve_performance_counters"}, model);
  const auto fixed = before.fixed_actions();
  if (fixed == 0) { refuse("the model's actions have features; it takes any number of them as it is."); }
  if (actions < fixed)
  {
    refuse(fmt::format("the model has {} actions; expected at least as many, not {}.", fixed, actions));
  }
  if (before.scores_before_learning())
  {
    refuse("the model was made with VW's '" + regressor_name(*before.shared_workspace()) +
           "', which keeps more than weights for each action; expected a model of VW's own regression, or of --coin, "
           "--ftrl or --pistol.");
  }
  uint32_t bits = before.bits();
  for (auto room = room_for(fixed); room < room_for(actions); room *= 2) { ++bits; }
  if (bits > MOST_BITS)
  {
    refuse(fmt::format("{} actions would need 2^{} weights; VW has at most 2^{}.", actions, bits, MOST_BITS));
  }
  array_learner after(flags_with(before, actions, bits));
  auto& from = *before.shared_workspace();
  auto& to = *after.shared_workspace();
  if (from.weights.dense_weights.stride() != to.weights.dense_weights.stride())
  {
    throw std::logic_error("a model's flags do not make its own kind of weights");
  }
  copy_weights(from, to, fixed);
  const auto* const states = explorer::of(from)->regressor_step_states();
  auto* const new_states = explorer::of(to)->regressor_step_states();
  if (states == nullptr || new_states == nullptr) { throw std::logic_error("a regressor's step sizes are unknown"); }
  std::copy(states->begin(), states->end(), new_states->begin());
  *to.sd = *from.sd;
  to.id = from.id;
  to.update_rule_config.initial_t = from.update_rule_config.initial_t;
  to.passes_config.current_pass = from.passes_config.current_pass;
  to.get_random_state()->set_random_state(from.get_random_state()->get_current_state());
  explorer::of(to)->continue_from(*explorer::of(from));
  after.set_note(note);
  return after.model();
}
}  // namespace vw_fastcb

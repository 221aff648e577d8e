#include "slots.h"

#include "bad_event.h"
#include "labels.h"

#include "vw/core/ccb_label.h"
#include "vw/core/example.h"
#include "vw/core/slates_label.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vw_fastcb
{
namespace
{
using VW::ccb_example_type;
using slates_type = VW::slates::example_type;

// VW finds the lines of a slot by position, and reads past the end if they come in another order.
template <typename Type>
void check_order(const std::vector<Type>& types)
{
  const bool one_shared = std::count(types.begin(), types.end(), Type::SHARED) == 1;
  const bool all_typed = std::find(types.begin(), types.end(), Type::UNSET) == types.end();
  const auto rank = [](Type type) { return type == Type::SHARED ? 0 : type == Type::ACTION ? 1 : 2; };
  const bool sorted = std::is_sorted(types.begin(), types.end(), [&rank](Type a, Type b) { return rank(a) < rank(b); });
  if (!one_shared || !all_typed || !sorted || types.back() != Type::SLOT)
  {
    refuse("its lines are out of order. Give one shared line, then the actions, then the slots.");
  }
}

void check_known(uint32_t action, size_t count, size_t slot)
{
  if (action >= count)
  {
    refuse(
        fmt::format("action {} of slot {} is unknown. The slot has {} actions, numbered from 0.", action, slot, count));
  }
}

// What a label says about a slot: the chosen action first, then possibly the others with their probabilities.
void check_slot(
    const VW::action_scores& entries, float cost, float weight, size_t count, size_t slot, const cost_range& range)
{
  if (entries.empty())
  {
    refuse(fmt::format(
        "slot {} has a cost but does not say which action was chosen. Give its action and probability.", slot));
  }
  check_observation({cost, 0, entries[0].score}, weight, range);
  std::vector<bool> seen(count, false);
  double sum = 0.;
  for (const auto& entry : entries)
  {
    check_known(entry.action, count, slot);
    if (seen[entry.action])
    {
      refuse(fmt::format("slot {} lists action {} twice. List each action once.", slot, entry.action));
    }
    seen[entry.action] = true;
    sum += entry.score;
    if (!(entry.score >= 0.f && entry.score <= 1.f))
    {
      refuse(fmt::format("probability {} of action {} in slot {} is outside [0, 1].", entry.score, entry.action, slot));
    }
  }
  constexpr double ROUNDING = 1e-3;
  if (entries.size() > 1 && std::abs(sum - 1.) > ROUNDING)
  {
    refuse(
        fmt::format("the probabilities of slot {} add up to {:.6g}, not to 1. Log the probability of every action that "
                    "the slot could choose, or of the chosen one only.",
            slot, sum));
  }
}
}  // namespace

void check_conditional_event(const VW::multi_ex& lines, const cost_range& range)
{
  std::vector<ccb_example_type> types;
  for (const auto* line : lines) { types.push_back(line->l.conditional_contextual_bandit.type); }
  check_order(types);

  const auto count = static_cast<size_t>(std::count(types.begin(), types.end(), ccb_example_type::ACTION));
  const auto slots = lines.size() - 1 - count;
  if (slots > count)
  {
    refuse(fmt::format("it has {} slots and {} actions. Expected at least one action per slot.", slots, count));
  }
  std::vector<bool> taken(count, false);
  size_t unlabelled = 0;  // slots so far
  for (size_t i = count + 1; i < lines.size(); ++i)
  {
    const auto& label = lines[i]->l.conditional_contextual_bandit;
    const auto& included = label.explicit_included_actions;
    const size_t slot = i - count - 1;
    for (const auto action : included) { check_known(action, count, slot); }
    if (label.outcome == nullptr)
    {
      ++unlabelled;
      continue;
    }
    if (unlabelled > 0)
    {
      refuse(
          fmt::format("slot {} has a label and a slot before it has none. VW would draw an action for that slot, and "
                      "ignore this label if it drew the same. Label all slots up to the last labelled one.",
              slot));
    }
    check_slot(label.outcome->probabilities, label.outcome->cost, lines[i]->weight, count, slot, range);
    const auto chosen = label.outcome->probabilities[0].action;
    if (taken[chosen] || (!included.empty() && std::find(included.begin(), included.end(), chosen) == included.end()))
    {
      refuse(fmt::format(
          "slot {} cannot have chosen action {}: an earlier slot chose it, or the slot may not use it.", slot, chosen));
    }
    taken[chosen] = true;
  }
}

void check_slates_event(const VW::multi_ex& lines, const cost_range& range)
{
  std::vector<slates_type> types;
  for (const auto* line : lines) { types.push_back(line->l.slates.type); }
  check_order(types);

  const auto slots = static_cast<size_t>(std::count(types.begin(), types.end(), slates_type::SLOT));
  std::vector<size_t> actions_of(slots, 0);
  const auto& shared = lines[0]->l.slates;
  for (size_t i = 1; i < lines.size(); ++i)
  {
    const auto& label = lines[i]->l.slates;
    const size_t slot = label.type == slates_type::ACTION ? label.slot_id : i + slots - lines.size();
    if (slot >= slots)
    {
      refuse(fmt::format("an action belongs to slot {}, but the event has {} slots, numbered from 0.", slot, slots));
    }
    if (label.type == slates_type::ACTION) { ++actions_of[slot]; }
    else if (shared.labeled)
    {
      check_slot(label.probabilities, shared.cost, lines[i]->weight, actions_of[slot], slot, range);
    }
    else if (label.labeled)
    {
      refuse(fmt::format("slot {} says what was chosen, but the shared line has no cost. Add it.", slot));
    }
  }
}
}  // namespace vw_fastcb

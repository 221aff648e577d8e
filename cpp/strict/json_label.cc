#include "json_label.h"

#include "bad_event.h"
#include "numbers.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace vw_fastcb
{
namespace
{
using VW::label_type_t;

// "a" lists the actions by number, "p" their probabilities, the chosen action first.
void check_ids(const labelled_event& event)
{
  const auto& ids = event.ids;
  if (!ids.empty() && event.probabilities.size > 0 && ids.size() != event.probabilities.size)
  {
    refuse(fmt::format(
        "a has {} entries and p has {}. Give one probability per action.", ids.size(), event.probabilities.size));
  }
  if (event.num_actions == 0) { return; }
  std::vector<uint8_t> seen(event.num_actions, 0);
  for (const auto id : ids)
  {
    if (id < 1 || id > event.num_actions || seen[id - 1] != 0)
    {
      refuse(
          fmt::format("a contains the action {}. List each of the {} actions of _multi at most once, numbered from 1.",
              id, event.num_actions));
    }
    seen[id - 1] = 1;
  }
}
}  // namespace

void json_label::read(VW::string_view key, json_cursor& at)
{
  if (key == "_label")
  {
    once(_is_whole, key);
    read_whole(at);
    return;
  }
  auto& value = part(key);
  if (value) { refuse_twice(key); }
  if (at.at_number())
  {
    const auto text = at.number();
    const bool is_whole = &value == &_index || &value == &_action;
    value = is_whole ? whole_number(text, key) : number_in(text).value_or(NAN);
  }
  else if (at.peek() == 'n') { at.word(); }  // null says nothing
  else
  {
    // VW reads the word "NaN" as well, which no part of a label may be.
    refuse(fmt::format("{} is not a number. Give one.", std::string(key)));
  }
}

std::optional<double>& json_label::part(VW::string_view key)
{
  if (is_bandit())
  {
    if (is_but_for_case(key, "_labelIndex")) { return _index; }
    if (is_but_for_case(key, "_label_Action")) { return _action; }
    if (is_but_for_case(key, "_label_probability")) { return _probability; }
    if (is_but_for_case(key, "_label_cost")) { return _cost; }
  }
  refuse(fmt::format("{} is no part of a label here, and VW would drop it. Expected {}.", quoted(key),
      is_bandit() ? "_label_cost, _label_probability, _label_Action or _labelIndex" : "_label"));
}

void json_label::read_of_action(VW::string_view key, json_cursor& at)
{
  if (key != "_label" || _format.labels != label_type_t::CB)
  {
    refuse(fmt::format("{} is inside an action. {}.", std::string(key),
        _format.labels == label_type_t::CB ? "Put it next to _multi, with the position of the action in _labelIndex"
                                           : "Label the slots"));
  }
  if (_labelled_actions++ > 0)
  {
    refuse("more than one action has a cost, or one has two labels. Give one _label, on the chosen action.");
  }
  read_whole(at);
}

// The value of "_label": text, a number or an object.
void json_label::read_whole(json_cursor& at)
{
  if (_format.labels == label_type_t::MULTICLASS && at.at_number()) { whole_number(at.number(), "_label"); }
  else if (at.peek() != '{') { at.value(); }
  else if (!is_bandit()) { refuse("its _label is an object, which VW would drop. Give a number or text."); }
  else { read_members(at); }
}

void json_label::read_members(json_cursor& at)
{
  bool has_action = false;
  bool has_cost = false;
  bool has_probability = false;
  at.members(
      [&](const json_cursor::key& member)
      {
        const auto key = member.text;
        if (is_but_for_case(key, "Action")) { once(has_action, "the Action of a _label"); }
        else if (is_but_for_case(key, "Cost")) { once(has_cost, "the Cost of a _label"); }
        else if (is_but_for_case(key, "Probability")) { once(has_probability, "the Probability of a _label"); }
        else
        {
          refuse(fmt::format(
              "VW would drop {} from its _label. Give Action, Cost and Probability, and nothing else.", quoted(key)));
        }
        if (is_but_for_case(key, "Action") && at.at_number()) { whole_number(at.number(), "Action"); }
        else { at.value(); }
      });
}

void json_label::check(const labelled_event& event) const
{
  if (has_parts() && _is_whole) { refuse("it has a _label, and parts of one. Give one of the two."); }
  if (_format.labels == label_type_t::CCB)
  {
    // VW makes one slot of an event that has none, and gives it the label.
    if ((has_parts() || _is_whole) && event.num_slots > 0)
    {
      refuse("it has slots, and a label outside of them. Put _label_cost, _a and _p into _slots or _outcomes.");
    }
    check_index();
  }
  if (_format.labels != label_type_t::CB || !_format.several_lines) { return; }
  check_ids(event);
  if (_is_whole) { refuse("its label belongs to no action. Put _label into the chosen action of _multi."); }
  if (!has_parts()) { return; }
  check_that_it_has_an_action(event);
  if (has_outcome()) { check_choice(event); }
}

void json_label::check_that_it_has_an_action(const labelled_event& event) const
{
  if (_labelled_actions > 0) { refuse("the event has a label, and so has an action. Give one of the two."); }
  if (_format.decision_service && !event.has_context)
  {
    refuse("it has a label and no context \"c\". Give an object with actions in _multi.");
  }
  if (event.num_actions == 0) { refuse("it has a label and no actions. Give the actions in _multi."); }
  if (!has_outcome()) { return; }
  if (!_cost) { refuse("its label has no cost. Give _label_cost, or no label to ask for a prediction."); }
  if (!_index)
  {
    refuse("its label belongs to no action. Give _labelIndex, the position of the chosen action, counted from 0.");
  }
  if (*_index >= static_cast<double>(event.num_actions))
  {
    refuse(fmt::format("_labelIndex is {} and the event has {} actions. Expected a number from 0 to {}.", *_index,
        event.num_actions, event.num_actions - 1));
  }
}

void json_label::check_choice(const labelled_event& event) const
{
  check_index();
  if (!event.ids.empty() && event.ids[0] != *_index + 1) { refuse_contradiction("the first entry of a", event.ids[0]); }
  constexpr double ROUNDING = 1e-3;
  const bool is_possible = _probability && *_probability > 0. && *_probability <= 1.;  // else it is refused later
  const double first = event.probabilities.first;
  if (is_possible && event.probabilities.size > 0 &&
      std::abs(first - *_probability) > ROUNDING * std::max(first, *_probability))
  {
    refuse(
        fmt::format("_label_probability is {} and the first entry of p is {}. Both are the probability of the chosen "
                    "action and must agree.",
            static_cast<float>(*_probability), static_cast<float>(first)));
  }
}

void json_label::check_index() const
{
  if (_index && _action && *_action != *_index + 1) { refuse_contradiction("_label_Action", *_action); }
}

void json_label::refuse_contradiction(const char* name, double action) const
{
  refuse(fmt::format(
      "_labelIndex is {} and {} is {}. Both say which action was chosen; the first counts from 0, the other "
      "from 1, so the other must be {}.",
      *_index, name, action, *_index + 1));
}
}  // namespace vw_fastcb

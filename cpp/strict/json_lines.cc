#include "json_lines.h"

#include "bad_event.h"
#include "json_cursor.h"
#include "numbers.h"
#include "slates_json.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <strings.h>

namespace vw_fastcb
{
namespace
{
using VW::label_type_t;

bool is(VW::string_view key, VW::string_view name) { return key == name; }
bool is_but_for_case(VW::string_view key, VW::string_view name)
{
  return key.size() == name.size() && strncasecmp(key.data(), name.data(), key.size()) == 0;
}

// VW treats such names specially, and finds the end of their values by the length of the name.
bool is_reserved(VW::string_view key) { return !key.empty() && key[0] == '_'; }

class json_line
{
public:
  json_line(const char* line, size_t length, const json_format& format) : _at(line, line + length), _format(format) {}

  json_facts check()
  {
    if (_format.decision_service) { log_entry(); }
    else { context(); }
    _at.expect_end();
    check_label();
    return _facts;
  }

private:
  // Where an object is, which decides what its reserved names mean.
  enum class place
  {
    context,
    action,
    slot,
    outcome,
    elsewhere
  };

  void log_entry()
  {
    _at.members(
        [this](const json_cursor::key& name)
        {
          check_key(name);
          const auto key = name.text;
          if (is(key, "c")) { context(); }
          else if (is(key, "a"))
          {
            once(_has_ids, key);
            _ids = whole_numbers(key);
          }
          else if (is(key, "p"))
          {
            once(_has_probabilities, key);
            _probabilities = probabilities(key);
          }
          else if (is(key, "pdrop"))
          {
            once(_has_drop_probability, key);
            drop_probability();
          }
          else if (is(key, "_outcomes"))
          {
            once(_has_outcomes, key);
            outcomes();
          }
          else if (is(key, "_multi"))
          {
            refuse("its actions are not inside a context, \"c\". Use --json for events that are not log entries.");
          }
          else if (is(key, "EventId") && _at.peek() != '"' && _at.peek() != 'n')
          {
            refuse("its EventId is not text. Write it in quotes.");
          }
          else if (key.substr(0, 6) == "_label") { event_label(key, /*after_context=*/_has_context); }
          else { _at.value(); }
        });
    _facts.has_choice = _facts.has_choice || !_ids.empty();
  }

  void context()
  {
    if (_at.peek() != '{') { _at.fail("an object"); }
    if (_has_context) { refuse("it has two contexts, \"c\". Give one."); }
    object(place::context);
    _has_context = true;
  }

  void object(place where)
  {
    _at.members<true>([this, where](const json_cursor::key& key) { member(key, where); });
  }

  void member(const json_cursor::key& name, place where)
  {
    if (name.has_escapes) { check_key(name); }
    if (is_reserved(name.text)) { reserved_member(name.text, where); }
    else { feature(); }
  }

  // Objects and arrays can have reserved names inside.
  void feature()
  {
    if (_at.at_number()) { _at.number(); }
    else
    {
      _at.value<true>([this](const json_cursor::key& inner) { member(inner, place::elsewhere); });
    }
  }

  void reserved_member(VW::string_view key, place where)
  {
    if (is(key, "_multi")) { actions(where); }
    else if (is(key, "_slots")) { slots(where); }
    else if (is(key, "__aid") || is(key, "_graph"))
    {
      refuse(fmt::format("{} has no meaning here. Leave it out.", std::string(key)));
    }
    else if (is(key, "_a") || is(key, "_p")) { choice(key, where); }
    else if (is_but_for_case(key, "_inc"))
    {
      require_slot(key, where);
      whole_numbers(key);
    }
    else if (is_but_for_case(key.substr(0, 6), "_label")) { label(key, where); }
    else if (is(key, "_outcomes") && _format.labels == label_type_t::CCB)
    {
      refuse("_outcomes is inside the context. In a log, put it after \"c\"; with --json, label the _slots.");
    }
    else { feature(); }
  }

  // VW compares a key before it knows where it ends.
  static void check_key(const json_cursor::key& name)
  {
    const auto key = name.text;
    if (name.has_escapes && (is_reserved(key) || is_but_for_case(key.substr(0, 6), "\\u005f")))
    {
      refuse(fmt::format(
          "the name {} starts with an underscore and contains an escape. Write it without the escape.", quoted(key)));
    }
  }

  static void once(bool& seen, VW::string_view key)
  {
    if (seen) { refuse(fmt::format("{} is given twice. Give it once.", std::string(key))); }
    seen = true;
  }

  void actions(place where)
  {
    if (!_format.several_lines)
    {
      refuse("it has actions in _multi, which --cb_explore K does not accept. Use --cb_explore_adf.");
    }
    if (where != place::context) { refuse("_multi is inside another object. Put it next to the shared features."); }
    objects("_multi", place::action, _facts.num_actions);
  }

  void slots(place where)
  {
    if (_format.labels != label_type_t::CCB)
    {
      refuse("it has _slots. Use --ccb_explore_adf or --slates for events with slots.");
    }
    if (where != place::context) { refuse("_slots is inside another object. Put it next to _multi."); }
    once(_has_slots, "_slots");
    objects("_slots", place::slot, _num_slots);
  }

  void outcomes()
  {
    const bool slots_are_labelled = _facts.has_choice;
    _facts.has_choice = false;
    size_t count = 0;
    objects("_outcomes", place::outcome, count);
    if (_format.labels == label_type_t::CCB && count != _num_slots)
    {
      refuse(fmt::format(
          "it has {} slots and {} _outcomes. Give one outcome per slot, after the context \"c\".", _num_slots, count));
    }
    if (slots_are_labelled && _facts.has_choice)
    {
      refuse("both _slots and _outcomes say what was chosen. Label one of the two.");
    }
    _facts.has_choice = _facts.has_choice || slots_are_labelled;
  }

  // An array of objects; each is one action, slot or outcome.
  void objects(const char* name, place where, size_t& count)
  {
    if (_at.peek() != '[') { refuse(fmt::format("{} is not an array. Expected an array of objects.", name)); }
    _at.elements(
        [&]
        {
          if (_at.peek() != '{')
          {
            refuse(fmt::format("entry {} of {} is not an object. Expected an array of objects.", count, name));
          }
          _slot = {};
          object(where);
          if (where != place::action) { check_choice(count); }
          ++count;
        });
  }

  void choice(VW::string_view key, place where)
  {
    require_slot(key, where);
    if (is(key, "_a"))
    {
      once(_slot.has_actions, key);
      _slot.num_actions = whole_numbers(key).size();
    }
    else
    {
      once(_slot.has_probabilities, key);
      _slot.num_probabilities = probabilities(key).size;
    }
  }

  void require_slot(VW::string_view key, place where) const
  {
    if (_format.labels == label_type_t::CCB && where != place::slot && where != place::outcome)
    {
      refuse(fmt::format("{} is outside a slot. Put it into _outcomes or _slots.", std::string(key)));
    }
  }

  void check_choice(size_t number)
  {
    _facts.has_choice = _facts.has_choice || _slot.num_actions > 0;
    if (_slot.num_actions == _slot.num_probabilities && (_slot.num_actions > 0 || !_slot.has_cost)) { return; }
    refuse(fmt::format(
        "slot {} has {} actions in _a and {} probabilities in _p. Give one probability per action, the chosen "
        "action first.",
        number, _slot.num_actions, _slot.num_probabilities));
  }

  // VW takes labels from anywhere, however deep among the features, and the last one counts.
  void label(VW::string_view key, place where)
  {
    if (!is(key.substr(0, 6), "_label"))
    {
      refuse(fmt::format("VW does not know {}. Write _label in lower case.", quoted(key)));
    }
    switch (where)
    {
      case place::context:
        event_label(key, /*after_context=*/false);
        break;
      case place::action:
        action_label(key);
        break;
      case place::slot:
      case place::outcome:
        slot_label(key);
        break;
      default:
        refuse(
            fmt::format("{} is among the features, and VW would take it for the label of the event. Rename it, or "
                        "move the label out.",
                std::string(key)));
    }
  }

  void event_label(VW::string_view key, bool after_context)
  {
    if (after_context)
    {
      refuse(
          fmt::format("{} comes after the context \"c\", where VW ignores it. Put the label first.", std::string(key)));
    }
    if (is(key, "_label"))
    {
      once(_has_whole_label, key);
      whole_label();
      return;
    }
    auto& part = part_of_label(key);
    if (part) { refuse(fmt::format("{} is given twice. Give it once.", std::string(key))); }
    if (_at.at_number())
    {
      const auto text = _at.number();
      const bool is_whole = &part == &_index || &part == &_action;
      part = is_whole ? whole_number(text, key) : number_in(text).value_or(NAN);
    }
    else if (_at.peek() == 'n') { _at.word(); }  // null says nothing
    else
    {
      // VW reads the word "NaN" as well, which no part of a label may be.
      refuse(fmt::format("{} is not a number. Give one.", std::string(key)));
    }
  }

  std::optional<double>& part_of_label(VW::string_view key)
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

  bool is_bandit() const { return _format.labels == label_type_t::CB || _format.labels == label_type_t::CCB; }

  void action_label(VW::string_view key)
  {
    if (!is(key, "_label") || _format.labels != label_type_t::CB)
    {
      refuse(fmt::format("{} is inside an action. {}.", std::string(key),
          _format.labels == label_type_t::CB ? "Put it next to _multi, with the position of the action in _labelIndex"
                                             : "Label the slots"));
    }
    if (_labelled_actions++ > 0)
    {
      refuse("more than one action has a cost, or one has two labels. Give one _label, on the chosen action.");
    }
    whole_label();
  }

  void slot_label(VW::string_view key)
  {
    if (!is_but_for_case(key, "_label_cost"))
    {
      refuse(fmt::format("{} is inside a slot. Label a slot with _label_cost, _a and _p.", std::string(key)));
    }
    once(_slot.has_cost, key);
    if (!_at.at_number()) { refuse(fmt::format("{} of a slot is not a number. Give one.", std::string(key))); }
    _at.number();
  }

  // The value of "_label": text, or an object.
  void whole_label()
  {
    if (_format.labels == label_type_t::MULTICLASS && _at.at_number()) { whole_number(_at.number(), "_label"); }
    else if (_at.peek() != '{') { _at.value(); }
    else if (!is_bandit()) { refuse("its _label is an object, which VW would drop. Give a number or text."); }
    else
    {
      bool has_action = false;
      bool has_cost = false;
      bool has_probability = false;
      _at.members(
          [&](const json_cursor::key& inner)
          {
            const auto key = inner.text;
            if (is_but_for_case(key, "Action")) { once(has_action, "the Action of a _label"); }
            else if (is_but_for_case(key, "Cost")) { once(has_cost, "the Cost of a _label"); }
            else if (is_but_for_case(key, "Probability")) { once(has_probability, "the Probability of a _label"); }
            else
            {
              refuse(
                  fmt::format("VW would drop {} from its _label. Give Action, Cost and Probability, and nothing else.",
                      quoted(key)));
            }
            if (is_but_for_case(key, "Action") && _at.at_number()) { whole_number(_at.number(), "Action"); }
            else { _at.value(); }
          });
    }
  }

  void drop_probability()
  {
    if (!_at.at_number())
    {
      _at.value();
      return;
    }
    const auto text = _at.number();
    const float value = number_in(text).value_or(NAN);
    if (!(value >= 0.f && value < 1.f))
    {
      refuse(fmt::format("its pdrop is {}. Give a number in [0, 1).", std::string(text)));
    }
  }

  static uint32_t whole_number(VW::string_view text, VW::string_view name)
  {
    uint32_t whole = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), whole);
    constexpr uint32_t TOO_LARGE = std::numeric_limits<uint32_t>::max();  // VW's mark of "none"
    if (result.ec == std::errc() && result.ptr == text.data() + text.size() && whole < TOO_LARGE) { return whole; }
    const double value = number_in<double>(text).value_or(-1.);  // it may be written as 1.0 or 1e0
    if (value >= 0. && value < TOO_LARGE && value == std::floor(value)) { return static_cast<uint32_t>(value); }
    refuse(fmt::format("action {} in {} is unknown. Actions are whole numbers.", std::string(text), std::string(name)));
  }

  // VW reads a single number as an array of one.
  template <typename OnNumber>
  void numbers(VW::string_view name, OnNumber on_number)
  {
    const auto one = [&]
    {
      if (!_at.at_number())
      {
        refuse(fmt::format("{} contains something that is not a number. Give an array of numbers.", std::string(name)));
      }
      on_number(_at.number());
    };
    if (_at.peek() == '[') { _at.elements(one); }
    else if (_at.peek() == 'n') { _at.word(); }
    else { one(); }
  }

  std::vector<uint32_t> whole_numbers(VW::string_view name)
  {
    std::vector<uint32_t> found;
    found.reserve(32);  // enough for most events
    numbers(name, [&](VW::string_view text) { found.push_back(whole_number(text, name)); });
    return found;
  }

  struct list_of_probabilities
  {
    size_t size = 0;
    double first = 0.;
  };

  list_of_probabilities probabilities(VW::string_view name)
  {
    list_of_probabilities found;
    numbers(name,
        [&](VW::string_view text)
        {
          // Only the first is used, and anything that starts like this is in range.
          const bool good = text.size() > 1 && text[0] == '0' && text[1] == '.' &&
                            std::none_of(text.begin(), text.end(), [](char c) { return c == 'e' || c == 'E'; });
          const double value = good && found.size > 0 ? 0. : number_in(text).value_or(NAN);
          if (!(value >= 0. && value <= 1.))
          {
            refuse(fmt::format("probability {} in {} is outside [0, 1].", std::string(text), std::string(name)));
          }
          if (found.size++ == 0) { found.first = value; }
        });
    return found;
  }

  // A label can say the same thing in several ways, which must then agree.
  void check_label() const
  {
    const bool has_parts = _cost || _probability || _action || _index;
    if (has_parts && _has_whole_label) { refuse("it has a _label, and parts of one. Give one of the two."); }
    if (_format.labels == label_type_t::CCB) { check_label_without_slots(has_parts || _has_whole_label); }
    if (_format.labels != label_type_t::CB || !_format.several_lines) { return; }
    check_ids();
    if (_has_whole_label) { refuse("its label belongs to no action. Put _label into the chosen action of _multi."); }
    if (has_parts && _labelled_actions > 0)
    {
      refuse("the event has a label, and so has an action. Give one of the two.");
    }
    if (!has_parts) { return; }
    if (_format.decision_service && !_has_context)
    {
      refuse("it has a label and no context \"c\". Give an object with actions in _multi.");
    }
    if (_facts.num_actions == 0) { refuse("it has a label and no actions. Give the actions in _multi."); }
    if (!_cost && !_probability && !_action) { return; }
    if (!_cost) { refuse("its label has no cost. Give _label_cost, or no label to ask for a prediction."); }
    if (!_index)
    {
      refuse("its label belongs to no action. Give _labelIndex, the position of the chosen action, counted from 0.");
    }
    if (*_index >= static_cast<double>(_facts.num_actions))
    {
      refuse(fmt::format("_labelIndex is {} and the event has {} actions. Expected a number from 0 to {}.", *_index,
          _facts.num_actions, _facts.num_actions - 1));
    }
    const double chosen = *_index + 1;
    check_index();
    if (!_ids.empty() && _ids[0] != chosen) { refuse_contradiction("the first entry of a", _ids[0]); }
    constexpr double ROUNDING = 1e-3;
    const bool possible = _probability && *_probability > 0. && *_probability <= 1.;  // else it is refused later
    if (possible && _probabilities.size > 0 &&
        std::abs(_probabilities.first - *_probability) > ROUNDING * std::max(_probabilities.first, *_probability))
    {
      refuse(
          fmt::format("_label_probability is {} and the first entry of p is {}. Both are the probability of the "
                      "chosen action and must agree.",
              static_cast<float>(*_probability), static_cast<float>(_probabilities.first)));
    }
  }

  // VW makes one slot of an event that has none, and gives it the label.
  void check_label_without_slots(bool has_label) const
  {
    if (has_label && _num_slots > 0)
    {
      refuse("it has slots, and a label outside of them. Put _label_cost, _a and _p into _slots or _outcomes.");
    }
    check_index();
  }

  void check_index() const
  {
    if (_index && _action && *_action != *_index + 1) { refuse_contradiction("_label_Action", *_action); }
  }

  [[noreturn]] void refuse_contradiction(const char* name, double action) const
  {
    refuse(
        fmt::format("_labelIndex is {} and {} is {}. Both say which action was chosen; the first counts from 0, the "
                    "other from 1, so the other must be {}.",
            *_index, name, action, *_index + 1));
  }

  // "a" lists the actions by number, "p" their probabilities, the chosen action first.
  void check_ids() const
  {
    if (!_ids.empty() && _probabilities.size > 0 && _ids.size() != _probabilities.size)
    {
      refuse(fmt::format(
          "a has {} entries and p has {}. Give one probability per action.", _ids.size(), _probabilities.size));
    }
    if (_facts.num_actions == 0) { return; }
    std::vector<bool> seen(_facts.num_actions, false);
    for (const auto id : _ids)
    {
      if (id < 1 || id > _facts.num_actions || seen[id - 1])
      {
        refuse(fmt::format(
            "a contains the action {}. List each of the {} actions of _multi at most once, numbered from 1.", id,
            _facts.num_actions));
      }
      seen[id - 1] = true;
    }
  }

  json_cursor _at;
  const json_format& _format;
  json_facts _facts;
  bool _has_context = false;
  bool _has_drop_probability = false;
  bool _has_slots = false;
  bool _has_outcomes = false;
  size_t _num_slots = 0;
  size_t _labelled_actions = 0;
  bool _has_ids = false;
  std::vector<uint32_t> _ids;
  bool _has_probabilities = false;
  list_of_probabilities _probabilities;
  // The label of the event: one value, or several.
  bool _has_whole_label = false;
  std::optional<double> _cost;
  std::optional<double> _probability;
  std::optional<double> _action;  // from 1
  std::optional<double> _index;   // from 0

  struct slot_label_parts
  {
    bool has_cost = false;
    bool has_actions = false;
    bool has_probabilities = false;
    size_t num_actions = 0;
    size_t num_probabilities = 0;
  };
  slot_label_parts _slot;  // the current one
};

// VW reads the label of a slate from the top of a log entry, and ignores every other.
void refuse_label(VW::string_view key)
{
  if (!is_but_for_case(key.substr(0, 6), "_label")) { return; }
  refuse(fmt::format(
      "VW would ignore its {}. A slate has one _label_cost, at the top of a log entry, which --dsjson reads.",
      quoted(key)));
}

void check_part_of_slate(json_cursor& at)
{
  at.value(
      [&at](const json_cursor::key& name)
      {
        refuse_label(name.text);
        check_part_of_slate(at);
      });
}

// Whether it is well-formed, which VW does not check, and where its labels are.
void check_slates_line(const char* line, size_t length, bool decision_service)
{
  json_cursor at(line, line + length);
  at.members(
      [&](const json_cursor::key& name)
      {
        const auto key = name.text;
        if (!decision_service || key != "_label_cost") { refuse_label(key); }
        if (!decision_service || key == "c" || key == "_outcomes") { check_part_of_slate(at); }
        else { at.value(); }
      });
  at.expect_end();
}
}  // namespace

json_facts check_json_line(const char* line, size_t length, const json_format& format)
{
  if (format.labels == label_type_t::SLATES)
  {
    check_slates_line(line, length, format.decision_service);
    return check_slates_json(line, format.decision_service);
  }
  return json_line(line, length, format).check();
}
}  // namespace vw_fastcb

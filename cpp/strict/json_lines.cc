#include "json_lines.h"

#include "bad_event.h"
#include "json_cursor.h"
#include "json_label.h"
#include "json_values.h"
#include "slates_json.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <string>

namespace vw_fastcb
{
namespace
{
using VW::label_type_t;

// VW treats such names specially, and finds the end of their values by the length of the name.
bool is_reserved(VW::string_view key) { return !key.empty() && key[0] == '_'; }

class json_line
{
public:
  json_line(const char* line, size_t length, const json_format& format)
      : _at(line, line + length)
      , _format(format)
      , _label(format)
  {
  }

  json_facts check()
  {
    if (_format.decision_service) { log_entry(); }
    else { context(); }
    _at.expect_end();
    _label.check(_event);
    _facts.num_actions = _event.num_actions;
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
          if (key == "c") { context(); }
          else if (key == "a")
          {
            once(_has_ids, key);
            _event.ids = whole_numbers(_at, key);
          }
          else if (key == "p")
          {
            once(_has_probabilities, key);
            _event.probabilities = probabilities(_at, key);
          }
          else if (key == "pdrop")
          {
            once(_has_drop_probability, key);
            check_drop_probability(_at);
          }
          else if (key == "_outcomes")
          {
            once(_has_outcomes, key);
            outcomes();
          }
          else if (key == "_multi")
          {
            refuse("its actions are not inside a context, \"c\". Use --json for events that are not log entries.");
          }
          else if (key == "EventId" && _at.peek() != '"' && _at.peek() != 'n')
          {
            refuse("its EventId is not text. Write it in quotes.");
          }
          else if (key.substr(0, 6) == "_label") { label_of_event(key); }
          else { _at.value(); }
        });
    _facts.has_choice = _facts.has_choice || !_event.ids.empty();
  }

  void context()
  {
    if (_at.peek() != '{') { _at.fail("an object"); }
    if (_event.has_context) { refuse("it has two contexts, \"c\". Give one."); }
    object(place::context);
    _event.has_context = true;
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
    if (key == "_multi") { actions(where); }
    else if (key == "_slots") { slots(where); }
    else if (key == "__aid" || key == "_graph")
    {
      refuse(fmt::format("{} has no meaning here. Leave it out.", std::string(key)));
    }
    else if (key == "_a" || key == "_p") { choice(key, where); }
    else if (is_but_for_case(key, "_inc"))
    {
      require_slot(key, where);
      whole_numbers(_at, key);
    }
    else if (is_but_for_case(key.substr(0, 6), "_label")) { label(key, where); }
    else if (key == "_outcomes" && _format.labels == label_type_t::CCB)
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

  void actions(place where)
  {
    if (!_format.several_lines)
    {
      refuse("it has actions in _multi, which --cb_explore K does not accept. Use --cb_explore_adf.");
    }
    if (where != place::context) { refuse("_multi is inside another object. Put it next to the shared features."); }
    objects("_multi", place::action, _event.num_actions);
  }

  void slots(place where)
  {
    if (_format.labels != label_type_t::CCB)
    {
      refuse("it has _slots. Use --ccb_explore_adf or --slates for events with slots.");
    }
    if (where != place::context) { refuse("_slots is inside another object. Put it next to _multi."); }
    once(_has_slots, "_slots");
    objects("_slots", place::slot, _event.num_slots);
  }

  void outcomes()
  {
    const bool slots_are_labelled = _facts.has_choice;
    _facts.has_choice = false;
    size_t count = 0;
    objects("_outcomes", place::outcome, count);
    if (_format.labels == label_type_t::CCB && count != _event.num_slots)
    {
      refuse(fmt::format("it has {} slots and {} _outcomes. Give one outcome per slot, after the context \"c\".",
          _event.num_slots, count));
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
    if (key == "_a")
    {
      once(_slot.has_actions, key);
      _slot.num_actions = whole_numbers(_at, key).size();
    }
    else
    {
      once(_slot.has_probabilities, key);
      _slot.num_probabilities = probabilities(_at, key).size;
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
    if (key.substr(0, 6) != "_label")
    {
      refuse(fmt::format("VW does not know {}. Write _label in lower case.", quoted(key)));
    }
    switch (where)
    {
      case place::context:
        _label.read(key, _at);
        break;
      case place::action:
        _label.read_of_action(key, _at);
        break;
      case place::slot:
      case place::outcome:
        label_of_slot(key);
        break;
      default:
        refuse(
            fmt::format("{} is among the features, and VW would take it for the label of the event. Rename it, or "
                        "move the label out.",
                std::string(key)));
    }
  }

  void label_of_event(VW::string_view key)
  {
    if (_event.has_context)
    {
      refuse(
          fmt::format("{} comes after the context \"c\", where VW ignores it. Put the label first.", std::string(key)));
    }
    _label.read(key, _at);
  }

  void label_of_slot(VW::string_view key)
  {
    if (!is_but_for_case(key, "_label_cost"))
    {
      refuse(fmt::format("{} is inside a slot. Label a slot with _label_cost, _a and _p.", std::string(key)));
    }
    once(_slot.has_cost, key);
    if (!_at.at_number()) { refuse(fmt::format("{} of a slot is not a number. Give one.", std::string(key))); }
    _at.number();
  }

  json_cursor _at;
  const json_format& _format;
  json_facts _facts;
  json_label _label;
  labelled_event _event;
  bool _has_ids = false;
  bool _has_probabilities = false;
  bool _has_drop_probability = false;
  bool _has_slots = false;
  bool _has_outcomes = false;

  struct choice_of_slot
  {
    bool has_cost = false;
    bool has_actions = false;
    bool has_probabilities = false;
    size_t num_actions = 0;
    size_t num_probabilities = 0;
  };
  choice_of_slot _slot;  // the current one
};
}  // namespace

json_facts check_json_line(const char* line, size_t length, const json_format& format)
{
  if (format.labels == label_type_t::SLATES) { return check_slates_json(line, length, format.decision_service); }
  return json_line(line, length, format).check();
}
}  // namespace vw_fastcb

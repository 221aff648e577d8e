// The label of an event in JSON, but for those of slots: one value "_label", or parts of one. It can say the same thing
// in several ways, which must then agree, with each other and with the rest of the event.
#pragma once

#include "json_cursor.h"
#include "json_lines.h"
#include "json_values.h"

#include "vw/common/string_view.h"
#include "vw/core/label_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace vw_fastcb
{
// What a label is compared with.
struct labelled_event
{
  bool has_context = false;
  size_t num_actions = 0;
  size_t num_slots = 0;
  std::vector<uint32_t> ids;            // "a": the actions by number, from 1, the chosen one first
  list_of_probabilities probabilities;  // "p": theirs
};

class json_label
{
public:
  explicit json_label(const json_format& format) : _format(format) {}

  // Reads the value of `key`, a name that begins with _label beside the context or its shared features.
  void read(VW::string_view key, json_cursor& at);

  // The same inside an action.
  void read_of_action(VW::string_view key, json_cursor& at);

  // Once all of the event was read.
  void check(const labelled_event& event) const;

private:
  bool is_bandit() const { return _format.labels == VW::label_type_t::CB || _format.labels == VW::label_type_t::CCB; }
  bool has_parts() const { return _cost || _probability || _action || _index; }

  // Not the position of an action alone, which asks for a prediction.
  bool has_outcome() const { return _cost || _probability || _action; }

  void read_whole(json_cursor& at);
  void read_members(json_cursor& at);
  std::optional<double>& part(VW::string_view key);

  void check_that_it_has_an_action(const labelled_event& event) const;
  void check_choice(const labelled_event& event) const;
  void check_index() const;
  [[noreturn]] void refuse_contradiction(const char* name, double action) const;

  const json_format& _format;
  bool _is_whole = false;  // there is a "_label"
  size_t _labelled_actions = 0;
  std::optional<double> _cost;
  std::optional<double> _probability;
  std::optional<double> _action;  // from 1
  std::optional<double> _index;   // from 0
};
}  // namespace vw_fastcb

// VW reads slates from JSON without looking whether a value is there and of the right kind: a wrong one is read as
// whatever lies in memory. Here it is refused by name.
#pragma once

#include "events.h"

#include "vw/common/vw_exception.h"

#include <rapidjson/document.h>

#include <string>

namespace vw_fastcb
{
namespace slates_json
{
using value = rapidjson::Value;

inline void require(bool good, const std::string& name, const char* expected)
{
  if (!good) { THROW("bad event: " << name << " is missing or of the wrong kind. Expected " << expected << "."); }
}

inline const value* find(const value& object, const char* name)
{
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

template <typename IsGood>
void require_one_or_many(const value* given, const char* name, const char* expected, IsGood is_good)
{
  require(given != nullptr && (given->IsArray() || is_good(*given)), name, expected);
  if (!given->IsArray()) { return; }
  for (const auto& entry : given->GetArray()) { require(is_good(entry), name, expected); }
}

inline void require_objects(const value& context, const char* name)
{
  const auto* given = find(context, name);
  if (given == nullptr) { return; }
  require(given->IsArray(), name, "an array of objects");
  for (const auto& entry : given->GetArray()) { require(entry.IsObject(), name, "an array of objects"); }
}

inline void check_context(const value& context)
{
  require_objects(context, "_multi");
  require_objects(context, "_slots");
  const auto* actions = find(context, "_multi");
  if (actions == nullptr) { return; }
  for (const auto& action : actions->GetArray())
  {
    const auto* slot = find(action, "_slot_id");
    require(slot != nullptr && slot->IsInt() && slot->GetInt() >= 0, "_slot_id", "the number of a slot, from 0");
  }
}

inline void check_log(const value& event)
{
  for (const char* name : {"_label_cost", "pdrop"})
  {
    const auto* given = find(event, name);
    require(given == nullptr || given->IsNumber(), name, "a number");
  }
  require_objects(event, "_outcomes");
  const auto* outcomes = find(event, "_outcomes");
  if (outcomes == nullptr) { return; }
  for (const auto& outcome : outcomes->GetArray())
  {
    require_one_or_many(
        find(outcome, "_a"), "_a", "actions, numbered from 0", [](const value& v) { return v.IsUint(); });
    require_one_or_many(
        find(outcome, "_p"), "_p", "probabilities in (0, 1]", [](const value& v) { return v.IsNumber(); });
  }
}
}  // namespace slates_json

// For FastCB only; does nothing for other label parsers.
inline void check_slates_json(const VW::label_parser& labels, const rapidjson::Document& event, bool decision_service)
{
  using namespace slates_json;
  if (!is_strict(labels)) { return; }
  require(!event.HasParseError() && event.IsObject(), "the event", "one JSON object");
  if (decision_service) { check_log(event); }
  const auto* context = decision_service ? find(event, "c") : &event;
  require(context != nullptr && context->IsObject(), "c", "an object");
  check_context(*context);
}
}  // namespace vw_fastcb

#include "slates_json.h"

#include "bad_event.h"

#include "fmt/format.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <string>

namespace vw_fastcb
{
namespace
{
using value = rapidjson::Value;

void require(bool good, const char* name, const char* expected)
{
  if (!good) { refuse(fmt::format("{} is missing or has the wrong type. Expected {}.", name, expected)); }
}

const value* find(const value& object, const char* name)
{
  const value* found = nullptr;
  for (const auto& member : object.GetObject())
  {
    if (member.name != name) { continue; }
    if (found != nullptr) { refuse(fmt::format("{} is given twice. Give it once.", name)); }
    found = &member.value;
  }
  return found;
}

template <typename IsGood>
void require_one_or_many(const value* given, const char* name, const char* expected, IsGood is_good)
{
  require(given != nullptr && (given->IsArray() || is_good(*given)), name, expected);
  if (!given->IsArray()) { return; }
  for (const auto& entry : given->GetArray()) { require(is_good(entry), name, expected); }
}

void require_objects(const value& context, const char* name)
{
  const auto* given = find(context, name);
  if (given == nullptr) { return; }
  require(given->IsArray(), name, "an array of objects");
  for (const auto& entry : given->GetArray()) { require(entry.IsObject(), name, "an array of objects"); }
}

void check_context(const value& context)
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

void check_log(const value& event)
{
  const auto* cost = find(event, "_label_cost");
  require(cost == nullptr || cost->IsNumber(), "_label_cost", "a number");
  const auto* drop = find(event, "pdrop");
  require(drop == nullptr || (drop->IsNumber() && drop->GetDouble() >= 0. && drop->GetDouble() < 1.), "pdrop",
      "a number in [0, 1)");
  for (const char* name : {"EventId", "Timestamp"})
  {
    const auto* given = find(event, name);
    require(given == nullptr || given->IsString(), name, "a string");
  }
  const auto* skip = find(event, "_skipLearn");
  require(skip == nullptr || skip->IsBool(), "_skipLearn", "true or false");
  require_objects(event, "_outcomes");
  const auto* outcomes = find(event, "_outcomes");
  if (outcomes == nullptr) { return; }
  for (const auto& outcome : outcomes->GetArray())
  {
    require_one_or_many(
        find(outcome, "_a"), "_a", "actions, numbered from 0", [](const value& v) { return v.IsUint(); });
    require_one_or_many(
        find(outcome, "_p"), "_p", "probabilities in (0, 1]", [](const value& v) { return v.IsNumber(); });
    const auto* original = find(outcome, "_original_label_cost");
    require(original == nullptr || original->IsNumber(), "_original_label_cost", "a number");
  }
}
}  // namespace

json_facts check_slates_json(const char* event, bool decision_service)
{
  rapidjson::Document document;
  document.Parse(event);
  if (document.HasParseError())
  {
    refuse(fmt::format("it cannot be read as JSON at character {}: {}", document.GetErrorOffset() + 1,
        rapidjson::GetParseError_En(document.GetParseError())));
  }
  if (decision_service) { check_log(document); }
  const auto* context = decision_service ? find(document, "c") : &document;
  require(context != nullptr && context->IsObject(), "c", "an object");
  require(find(*context, "_slot_id") == nullptr, "_slot_id of the context", "_slot_id on actions only");
  check_context(*context);
  const auto* actions = find(*context, "_multi");
  const auto* outcomes = find(document, "_outcomes");
  const bool has_choice = find(document, "_label_cost") != nullptr && outcomes != nullptr && !outcomes->Empty();
  return {has_choice, actions == nullptr ? 0 : actions->Size()};
}
}  // namespace vw_fastcb

#include "slates_json.h"

#include "bad_event.h"
#include "json_values.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <string>

namespace vw_fastcb
{
namespace
{
using value = rapidjson::Value;

constexpr int DEEPEST = 100;  // VW's parser recurses for each level

VW::string_view text_of(const value& text) { return {text.GetString(), text.GetStringLength()}; }

// Without recursion, because nobody knows yet how deep it goes.
rapidjson::Document parsed(const char* event, size_t length)
{
  const VW::string_view text(event, length);
  const auto first = std::min(text.find_first_not_of(" \t\r\n"), length);
  if (first == length || text[first] != '{')
  {
    refuse(fmt::format("it is not valid JSON. Expected an object at character {}, found {}.", first + 1,
        quoted(text.substr(first), 20)));
  }
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(event, length);
  if (document.HasParseError())
  {
    refuse(fmt::format("it is not valid JSON at character {}: {}", document.GetErrorOffset() + 1,
        rapidjson::GetParseError_En(document.GetParseError())));
  }
  return document;
}

void refuse_zeros(const value& text)
{
  if (text_of(text).find('\0') == VW::string_view::npos) { return; }
  refuse("a name or a text contains a zero character, \\u0000, and VW reads nothing after it. Remove it.");
}

// VW reads the label of a slate from the top of a log entry, and ignores every other.
void refuse_label(const value& name)
{
  if (!is_but_for_case(text_of(name).substr(0, 6), "_label")) { return; }
  refuse(fmt::format(
      "VW would ignore its {}. A slate has one _label_cost, at the top of a log entry, which --dsjson reads.",
      quoted(text_of(name))));
}

// Refuses what VW would not read to its end, and, where VW would ignore labels, those.
void check_depths(const value& part, bool may_have_labels, int depth)
{
  if ((part.IsObject() || part.IsArray()) && depth > DEEPEST)
  {
    refuse(fmt::format("its JSON is nested more than {} levels deep. Flatten it.", DEEPEST));
  }
  if (part.IsString()) { refuse_zeros(part); }
  else if (part.IsArray())
  {
    for (const auto& entry : part.GetArray()) { check_depths(entry, may_have_labels, depth + 1); }
  }
  else if (part.IsObject())
  {
    for (const auto& member : part.GetObject())
    {
      refuse_zeros(member.name);
      if (!may_have_labels) { refuse_label(member.name); }
      check_depths(member.value, may_have_labels, depth + 1);
    }
  }
}

void check_members(const value& event, bool decision_service)
{
  for (const auto& member : event.GetObject())
  {
    const auto name = text_of(member.name);
    refuse_zeros(member.name);
    if (!decision_service || name != "_label_cost") { refuse_label(member.name); }
    const bool is_read = !decision_service || name == "c" || name == "_outcomes";
    check_depths(member.value, /*may_have_labels=*/!is_read, 2);
  }
}

void require(bool good, const char* name, const char* expected)
{
  if (!good) { refuse(fmt::format("{} is missing or has the wrong type. Expected {}.", name, expected)); }
}

const value* find(const value& object, const char* name)
{
  const value* only = nullptr;
  for (const auto& member : object.GetObject())
  {
    if (member.name != name) { continue; }
    if (only != nullptr) { refuse(fmt::format("{} is given twice. Give it once.", name)); }
    only = &member.value;
  }
  return only;
}

template <typename IsGood>
void require_one_or_many(const value* part, const char* name, const char* expected, IsGood is_good)
{
  require(part != nullptr && (part->IsArray() || is_good(*part)), name, expected);
  if (!part->IsArray()) { return; }
  for (const auto& entry : part->GetArray()) { require(is_good(entry), name, expected); }
}

void require_objects(const value& context, const char* name)
{
  const auto* entries = find(context, name);
  if (entries == nullptr) { return; }
  require(entries->IsArray(), name, "an array of objects");
  for (const auto& entry : entries->GetArray()) { require(entry.IsObject(), name, "an array of objects"); }
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
    const auto* text = find(event, name);
    require(text == nullptr || text->IsString(), name, "a string");
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

json_facts check_slates_json(const char* event, size_t length, bool decision_service)
{
  const auto document = parsed(event, length);
  check_members(document, decision_service);
  if (decision_service) { check_log(document); }
  const auto* context = decision_service ? find(document, "c") : static_cast<const value*>(&document);
  require(context != nullptr && context->IsObject(), "c", "an object");
  require(find(*context, "_slot_id") == nullptr, "_slot_id of the context", "_slot_id on actions only");
  check_context(*context);
  const auto* actions = find(*context, "_multi");
  const auto* outcomes = find(document, "_outcomes");
  const bool has_choice = find(document, "_label_cost") != nullptr && outcomes != nullptr && !outcomes->Empty();
  return {has_choice, actions == nullptr ? 0 : actions->Size()};
}
}  // namespace vw_fastcb

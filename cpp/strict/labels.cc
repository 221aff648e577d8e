#include "labels.h"

#include "bad_event.h"
#include "numbers.h"
#include "text_values.h"

#include "vw/common/text_utils.h"
#include "vw/core/ccb_label.h"
#include "vw/core/constant.h"
#include "vw/core/cost_sensitive.h"
#include "vw/core/example.h"
#include "vw/core/hashstring.h"
#include "vw/core/multiclass.h"
#include "vw/core/slates_label.h"

#include "fmt/format.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <strings.h>

namespace vw_fastcb
{
namespace
{
bool has_no_cost(const VW::cb_class& entry) { return entry.cost == FLT_MAX; }

constexpr const char* NO_COST =
    "the label has a probability but no cost. Give both, or neither to ask for a prediction.";
constexpr const char* TWO_LABELS = "more than one action has a cost. Give a cost for the chosen action only.";

constexpr VW::string_view SHARED = VW::details::SHARED_TYPE;

// `what` names the number in messages; `expected` says what it must be.
float number_of(VW::string_view token, VW::string_view label, const char* what, const char* expected)
{
  const auto value = number_in(token);
  if (!value)
  {
    refuse(
        fmt::format("{} {} in the label {} is not a number. Give {}.", what, quoted(token), quoted(label), expected));
  }
  return *value;
}

// The same for a number that VW reads once more.
float number_for_vw(VW::string_view token, VW::string_view label, const char* what, const char* expected)
{
  const auto value = number_of(token, label, what, expected);
  const auto problem = misreading_of(token, value);
  if (!problem.empty())
  {
    refuse(fmt::format("{} {} in the label {}: {}", what, quoted(token), quoted(label), problem));
  }
  return value;
}

bool is_small_number(VW::string_view token)
{
  constexpr size_t MOST_DIGITS = 9;  // so that the number fits
  return !token.empty() && token.size() <= MOST_DIGITS &&
         std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

uint32_t action_number(VW::string_view token, VW::string_view label)
{
  if (!is_small_number(token))
  {
    refuse(
        fmt::format("action {} in the label {} is unknown. Actions are numbers; with --cb_explore K they are "
                    "numbered 1 to K.",
            quoted(token), quoted(label)));
  }
  return static_cast<uint32_t>(std::stoul(std::string(token)));
}

[[noreturn]] void refuse_form(VW::string_view word, bool fixed_actions)
{
  const bool meant_shared = word.size() == SHARED.size() && strncasecmp(word.data(), SHARED.data(), word.size()) == 0;
  refuse(fmt::format("the label {} is not of the form action:cost:probability{}.{}", quoted(word),
      fixed_actions ? "" : " or shared",
      fixed_actions && meant_shared ? " Shared lines need --cb_explore_adf."
      : meant_shared                ? " Write 'shared' in lower case."
                                    : " Leave the label out to ask for a prediction."));
}

VW::cb_class parse_entry(VW::string_view word, std::vector<VW::string_view>& tokens, bool fixed_actions)
{
  VW::tokenize(':', word, tokens, /*allow_empty=*/true);
  VW::cb_class entry;
  // The default, probability -1, is how VW marks a line of shared features.
  if (!fixed_actions && word == SHARED) { return entry; }
  const bool names_an_action = fixed_actions && tokens.size() == 1 && word != SHARED;
  if (tokens.empty() || (tokens.size() == 1 && !names_an_action) || tokens.size() > 3 || word.back() == ':' ||
      tokens[0] == SHARED)
  {
    refuse_form(word, fixed_actions);
  }
  // In an event of several lines, the line says which action was chosen. The word is kept as VW keeps it.
  entry.action = fixed_actions
                     ? action_number(tokens[0], word)
                     : static_cast<uint32_t>(VW::details::hashstring(tokens[0].data(), tokens[0].length(), 0));
  entry.probability = 0.f;
  if (tokens.size() == 1) { return entry; }
  if (tokens.size() == 2)
  {
    refuse(fmt::format(
        "the label {} has no probability. Give action:cost:probability, with a probability in (0, 1].", quoted(word)));
  }
  entry.cost =
      number_of(tokens[1], word, "cost", "one in [0, 1], or in the range that --cb_min_cost and --cb_max_cost declare");
  // FLT_MAX is how VW marks "no cost".
  if (entry.cost == FLT_MAX) { entry.cost = std::numeric_limits<float>::infinity(); }
  entry.probability = number_of(tokens[2], word, "probability", "one in (0, 1]");
  if (entry.probability == -1.f) { entry.probability = std::nextafter(-1.f, -2.f); }
  return entry;
}

void check_finite(VW::string_view token, VW::string_view label, const char* what)
{
  if (!std::isfinite(number_for_vw(token, label, what, "a finite number")))
  {
    refuse(fmt::format(
        "{} {} in the label {} is not a finite number. Give a finite one.", what, quoted(token), quoted(label)));
  }
}

void check_probability(VW::string_view token, VW::string_view label)
{
  const float value = number_for_vw(token, label, "probability", "one in (0, 1]");
  if (!(value >= 0.f && value <= 1.f))
  {
    refuse(fmt::format(
        "probability {} in the label {} is outside (0, 1]. Log the probability with which the action was drawn.",
        quoted(token), quoted(label)));
  }
}

// The slots of a conditional bandit are labelled "1:0.5:0.8,0:0.2", action:cost:probability and then
// action:probability; those of slates "1:0.8,0:0.2". A slate's cost is on its shared line, "shared 0.5", and its
// actions name their slot, "action 0".
void check_words_of_slots(const std::vector<VW::string_view>& words, std::vector<VW::string_view>& tokens)
{
  if (words.size() < 3) { return; }
  if (words[1] == SHARED) { check_finite(words[2], words[2], "cost"); }
  if (words[1] == VW::details::ACTION_TYPE && !is_small_number(words[2]))
  {
    refuse(fmt::format("slot {} of an action is unknown. Slots are numbered from 0.", quoted(words[2])));
  }
  if (words[1] != VW::details::SLOT_TYPE) { return; }
  std::vector<VW::string_view> entries;
  for (size_t i = 2; i < words.size(); ++i)
  {
    VW::tokenize(',', words[i], entries);
    if (words[i].find(':') == VW::string_view::npos)  // the actions a slot may use
    {
      for (const auto action : entries) { action_number(action, words[i]); }
      continue;
    }
    for (const auto entry : entries)
    {
      VW::tokenize(':', entry, tokens, /*allow_empty=*/true);
      action_number(tokens[0], entry);
      if (tokens.size() > 1) { check_probability(tokens.back(), entry); }
      if (tokens.size() > 2) { check_finite(tokens[1], entry, "cost"); }
    }
  }
}

template <VW::label_parser& stock>
void parse_slots_strictly(VW::polylabel& label, VW::reduction_features& features, VW::label_parser_reuse_mem& memory,
    const VW::named_labels* names, const std::vector<VW::string_view>& words, VW::io::logger& logger)
{
  check_words_of_slots(words, memory.tokens);
  stock.parse_label(label, features, memory, names, words, logger);
}

// VW wraps large numbers, and reads a weight that is no number as 0.
void parse_class_strictly(VW::polylabel& label, VW::reduction_features& features, VW::label_parser_reuse_mem& memory,
    const VW::named_labels* names, const std::vector<VW::string_view>& words, VW::io::logger& logger)
{
  if (words.size() > 2)
  {
    refuse(fmt::format("its label has {} words. Give a class, and possibly a weight.", words.size()));
  }
  if (names == nullptr && !words.empty() && !is_small_number(words[0]))
  {
    refuse(fmt::format("class {} is unknown. Classes are numbered from 1.", quoted(words[0])));
  }
  if (words.size() == 2) { check_finite(words[1], words[1], "weight"); }
  VW::multiclass_label_parser_global.parse_label(label, features, memory, names, words, logger);
}

void parse_costs_strictly(VW::polylabel& label, VW::reduction_features& features, VW::label_parser_reuse_mem& memory,
    const VW::named_labels* names, const std::vector<VW::string_view>& words, VW::io::logger& logger)
{
  auto& tokens = memory.tokens;
  for (const auto word : words)
  {
    VW::tokenize(':', word, tokens, /*allow_empty=*/true);
    const bool is_class = names != nullptr || word == SHARED || is_small_number(tokens[0]);
    if (tokens.size() > 2 || !is_class || word.back() == ':')
    {
      refuse(fmt::format("the label {} is not of the form class:cost.", quoted(word)));
    }
    if (tokens.size() == 2) { check_finite(tokens[1], word, "cost"); }
  }
  VW::cs_label_parser_global.parse_label(label, features, memory, names, words, logger);
}

// A refused label leaves the previous one as it was.
template <bool fixed_actions>
void parse_label(VW::polylabel& label, VW::reduction_features&, VW::label_parser_reuse_mem& memory,
    const VW::named_labels*, const std::vector<VW::string_view>& words, VW::io::logger&)
{
  if (words.size() == 1)
  {
    const auto entry = parse_entry(words[0], memory.tokens, fixed_actions);
    label.cb.reset_to_default();
    label.cb.costs.push_back(entry);
    return;
  }
  std::vector<VW::cb_class> entries;
  for (const auto& word : words) { entries.push_back(parse_entry(word, memory.tokens, fixed_actions)); }
  label.cb.reset_to_default();
  for (const auto& entry : entries) { label.cb.costs.push_back(entry); }
}

bool is_shared_mark(const VW::cb_class& entry) { return entry.probability == -1.f && has_no_cost(entry); }
}  // namespace

void check_observation(const VW::cb_class& observed, float weight, const cost_range& range)
{
  if (!range.contains(observed.cost))
  {
    refuse(
        fmt::format("cost {} is outside [{}, {}]. Give costs in this range, or declare another with --cb_min_cost "
                    "and --cb_max_cost.",
            observed.cost, range.lowest(), range.highest()));
  }
  if (!(observed.probability > 0.f && observed.probability <= 1.f))
  {
    refuse(
        fmt::format("probability {} of the chosen action is outside (0, 1]. Log the probability with which the "
                    "action was drawn.",
            observed.probability));
  }
  if (!(weight >= 0.f && std::isfinite(weight)))
  {
    refuse(
        fmt::format("its weight is {}. It must be finite and not negative (in a log, pdrop must be below 1).", weight));
  }
}

size_t observed_action(const VW::multi_ex& lines, const cost_range& range)
{
  const size_t first = !lines.empty() && VW::ec_is_example_header_cb(*lines[0]) ? 1 : 0;
  if (first == 1 && lines[0]->l.cb.costs.size() > 1)
  {
    refuse(
        "its label belongs to no action. In JSON, give _labelIndex, the position of the chosen action, counted from "
        "0.");
  }
  if (lines.size() == first) { refuse("it has no action. Give it at least one action."); }
  size_t chosen = NO_ACTION;
  for (size_t i = first; i < lines.size(); ++i)
  {
    for (const auto& entry : lines[i]->l.cb.costs)
    {
      if (is_shared_mark(entry))
      {
        refuse("there is a shared line among the actions. Only the first line of an event can be 'shared'.");
      }
      if (has_no_cost(entry))
      {
        if (entry.probability > 0.f) { refuse(NO_COST); }
        continue;
      }
      check_observation(entry, lines[i]->weight, range);
      if (chosen != NO_ACTION) { refuse(TWO_LABELS); }
      chosen = i - first;
    }
  }
  return chosen;
}

size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range)
{
  size_t chosen = NO_ACTION;
  for (const auto& entry : ec.l.cb.costs)
  {
    if (entry.action < 1 || entry.action > count)
    {
      refuse(fmt::format(
          "action {} is unknown. The actions of --cb_explore {} are numbered 1 to {}.", entry.action, count, count));
    }
    if (has_no_cost(entry))
    {
      refuse(
          fmt::format("action {} is listed without a cost. FastCB chooses among all {} actions; leave the label "
                      "empty to ask for a prediction, or use --cb_explore_adf for a changing set of actions.",
              entry.action, count));
    }
    check_observation(entry, ec.weight, range);
    if (chosen != NO_ACTION) { refuse(TWO_LABELS); }
    chosen = entry.action - 1;
  }
  return chosen;
}

VW::label_parser strict_label_parser(const VW::label_parser& stock, bool fixed_actions)
{
  auto strict = stock;
  switch (stock.label_type)
  {
    case VW::label_type_t::CB:
      strict.parse_label = fixed_actions ? parse_label<true> : parse_label<false>;
      // With several lines per event, VW asks this to tell an empty action from the end of the event.
      if (fixed_actions)
      {
        strict.test_label = [](const VW::polylabel&) { return false; };
      }
      break;
    case VW::label_type_t::CCB:
      strict.parse_label = parse_slots_strictly<VW::ccb_label_parser_global>;
      strict.test_label = [](const VW::polylabel& label)
      {
        const auto& ccb = label.conditional_contextual_bandit;
        return ccb.type != VW::ccb_example_type::ACTION && ccb.is_test_label();
      };
      break;
    case VW::label_type_t::SLATES:
      strict.parse_label = parse_slots_strictly<VW::slates::slates_label_parser>;
      strict.test_label = [](const VW::polylabel& label)
      { return label.slates.type != VW::slates::example_type::ACTION && !label.slates.labeled; };
      break;
    case VW::label_type_t::MULTICLASS:
      strict.parse_label = parse_class_strictly;
      break;
    case VW::label_type_t::CS:
      strict.parse_label = parse_costs_strictly;
      break;
    default:
      break;
  }
  return strict;
}
}  // namespace vw_fastcb

#include "events.h"

#include "vw/common/text_utils.h"
#include "vw/common/vw_exception.h"
#include "vw/core/ccb_label.h"
#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/hashstring.h"
#include "vw/core/slates_label.h"

#include "fmt/format.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace vw_fastcb
{
namespace
{
bool says_nothing(const VW::cb_class& entry) { return entry.cost == FLT_MAX; }

constexpr const char* NO_COST =
    "bad event: the label has a probability and no cost. Give both, or neither to ask for a prediction.";
constexpr const char* TWO_LABELS =
    "bad event: more than one action has a cost. Only the action that was chosen has one.";

// `what` is how messages call the number, `expected` what it has to be.
float number_in(VW::string_view token, VW::string_view label, const char* what, const char* expected)
{
  const std::string text(token.data(), token.size());
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size())
  {
    THROW("bad event: " << what << " '" << text << "' in the label '" << label << "' is not a number. Give " << expected
                        << ".");
  }
  return value;
}

uint32_t action_number(VW::string_view token, VW::string_view label)
{
  const bool digits = std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
  constexpr size_t MOST_DIGITS = 9;  // so that the number fits
  if (token.empty() || token.size() > MOST_DIGITS || !digits)
  {
    THROW("bad event: action '" << token << "' in the label '" << label
                                << "' is unknown. Actions have numbers; those of --cb_explore K are numbered 1 to K.");
  }
  return static_cast<uint32_t>(std::stoul(std::string(token)));
}

VW::cb_class parse_entry(VW::string_view word, std::vector<VW::string_view>& tokens, bool fixed_actions)
{
  VW::tokenize(':', word, tokens, /*allow_empty=*/true);
  const bool shared = !tokens.empty() && tokens[0] == VW::details::SHARED_TYPE;
  if (tokens.empty() || tokens.size() > (shared ? 1u : 3u) || word.back() == ':')
  {
    THROW("bad event: the label '" << word << "' is not of the form action:cost:probability or shared.");
  }
  VW::cb_class entry;
  if (shared) { return entry; }  // the default, probability -1, is VW's mark for a line of shared features

  // Among several lines it is the line that says which action was chosen; the word is kept as VW keeps it.
  entry.action = fixed_actions
                     ? action_number(tokens[0], word)
                     : static_cast<uint32_t>(VW::details::hashstring(tokens[0].data(), tokens[0].length(), 0));
  if (tokens.size() == 2)
  {
    THROW("bad event: the label '" << word
                                   << "' has no probability. Give action:cost:probability, with a probability in "
                                   << "(0, 1].");
  }
  entry.probability = 0.f;
  if (tokens.size() > 1)
  {
    entry.cost = number_in(
        tokens[1], word, "cost", "one in [0, 1], or in the range that --cb_min_cost and --cb_max_cost declare");
    // FLT_MAX is VW's mark for "no cost".
    if (entry.cost == FLT_MAX) { entry.cost = std::numeric_limits<float>::infinity(); }
  }
  if (tokens.size() > 2)
  {
    entry.probability = number_in(tokens[2], word, "probability", "one in (0, 1]");
    if (entry.probability == -1.f) { entry.probability = std::nextafter(-1.f, -2.f); }
  }
  return entry;
}

// In `1:0.5:0.8|x` VW takes the label for a tag, as it stands at the bar; a tab between them does not help.
void refuse_label_in_tag(const VW::example& ec)
{
  float numbers[3];
  const std::string tag(ec.tag.begin(), ec.tag.size());
  int length = 0;
  std::sscanf(tag.c_str(), "%f:%f:%f %n", &numbers[0], &numbers[1], &numbers[2], &length);
  if (length == static_cast<int>(tag.size()) && numbers[2] >= 0.f && numbers[2] <= 1.f)
  {
    THROW("bad event: the label '" << tag << "' has no space between it and the bar, so that VW takes it for a tag. "
                                   << "Write '" << tag << " |'.");
  }
}

void check_finite(VW::string_view token, VW::string_view label, const char* what)
{
  if (!std::isfinite(number_in(token, label, what, "a finite number")))
  {
    THROW("bad event: " << what << " '" << token << "' in the label '" << label << "' is not a finite number.");
  }
}

void check_probability(VW::string_view token, VW::string_view label)
{
  const float value = number_in(token, label, "probability", "one in (0, 1]");
  if (!(value >= 0.f && value <= 1.f))
  {
    THROW("bad event: probability '" << token << "' in the label '" << label << "' is outside (0, 1].");
  }
}

// The slots of a conditional bandit are labelled "1:0.5:0.8,0:0.2", action:cost:probability and then
// action:probability; those of slates "1:0.8,0:0.2". A slate's cost stands on its shared line, "shared 0.5".
void check_words_of_slots(const std::vector<VW::string_view>& words, std::vector<VW::string_view>& tokens)
{
  if (words.size() < 3) { return; }
  if (words[1] == VW::details::SHARED_TYPE) { check_finite(words[2], words[2], "cost"); }
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

template <bool fixed_actions>
void parse_label(VW::polylabel& label, VW::reduction_features&, VW::label_parser_reuse_mem& memory,
    const VW::named_labels*, const std::vector<VW::string_view>& words, VW::io::logger&)
{
  label.cb.reset_to_default();
  for (const auto& word : words) { label.cb.costs.push_back(parse_entry(word, memory.tokens, fixed_actions)); }
}
}  // namespace

void check_observation(const VW::cb_class& observed, float weight, const cost_range& range)
{
  if (!range.contains(observed.cost))
  {
    THROW(
        fmt::format("bad event: cost {} is outside [{}, {}]. Give costs in this range, or declare another with "
                    "--cb_min_cost and --cb_max_cost.",
            observed.cost, range.lowest(), range.highest()));
  }
  if (!(observed.probability > 0.f && observed.probability <= 1.f))
  {
    THROW(
        fmt::format("bad event: probability {} of the chosen action is outside (0, 1]. Log the probability with which "
                    "the action was drawn.",
            observed.probability));
  }
  if (!(weight >= 0.f && std::isfinite(weight)))
  {
    THROW(fmt::format(
        "bad event: its weight is {}. It must be finite and not negative (in a log, pdrop must be below 1).", weight));
  }
}

size_t observed_action(const VW::multi_ex& actions, const cost_range& range)
{
  size_t found = NO_ACTION;
  for (size_t a = 0; a < actions.size(); ++a)
  {
    if (!actions[a]->tag.empty()) { refuse_label_in_tag(*actions[a]); }
    for (const auto& entry : actions[a]->l.cb.costs)
    {
      if (entry.probability == -1.f && says_nothing(entry))
      {
        THROW(
            "bad event: shared features stand among the actions. In text only the first line of an event is 'shared'; "
            "in "
            "JSON, _multi must have an action and _labelIndex say which one was chosen, from 0.");
      }
      if (says_nothing(entry))
      {
        if (entry.probability > 0.f) { THROW(NO_COST); }
        continue;
      }
      check_observation(entry, actions[a]->weight, range);
      if (found != NO_ACTION) { THROW(TWO_LABELS); }
      found = a;
    }
  }
  return found;
}

size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range)
{
  if (!ec.tag.empty()) { refuse_label_in_tag(ec); }
  size_t found = NO_ACTION;
  for (const auto& entry : ec.l.cb.costs)
  {
    if (entry.action < 1 || entry.action > count)
    {
      THROW("bad event: action " << entry.action << " is unknown. The actions of --cb_explore " << count
                                 << " are numbered 1 to " << count << ".");
    }
    if (says_nothing(entry))
    {
      THROW("bad event: action " << entry.action << " is listed without a cost. FastCB chooses among all " << count
                                 << " actions; leave the label empty to ask for a prediction, or use --cb_explore_adf "
                                 << "for a changing set of actions.");
    }
    check_observation(entry, ec.weight, range);
    if (found != NO_ACTION) { THROW(TWO_LABELS); }
    found = entry.action - 1;
  }
  return found;
}

VW::label_parser strict_label_parser(const VW::label_parser& stock, bool fixed_actions)
{
  auto strict = stock;
  switch (stock.label_type)
  {
    case VW::label_type_t::CB:
      strict.parse_label = fixed_actions ? parse_label<true> : parse_label<false>;
      // Among several lines VW takes a line without features and label for the end of the event, and asks this to tell.
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
    default:
      break;
  }
  return strict;
}

void check_features(const VW::example& ec)
{
  for (const auto ns : ec.indices)
  {
    for (const float value : ec.feature_space[ns].values)
    {
      if (!std::isfinite(value))
      {
        THROW("bad event: a feature of namespace '" << static_cast<char>(ns) << "' has the value " << value
                                                    << " in single precision. Expected finite numbers.");
      }
    }
  }
}

bool is_strict(const VW::label_parser& parser)
{
  const auto parse = parser.parse_label;
  return parse == parse_label<true> || parse == parse_label<false> ||
         parse == parse_slots_strictly<VW::ccb_label_parser_global> ||
         parse == parse_slots_strictly<VW::slates::slates_label_parser>;
}
}  // namespace vw_fastcb

#include "events.h"

#include "vw/common/text_utils.h"
#include "vw/common/vw_exception.h"
#include "vw/core/ccb_label.h"
#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/hashstring.h"
#include "vw/core/slates_label.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace vw_fastcb
{
namespace
{
void check_observation(const VW::cb_class& observed, float weight, const cost_range& range)
{
  if (!range.contains(observed.cost))
  {
    THROW(
        "bad event: cost " << observed.cost << " is outside [" << range.lowest() << ", " << range.highest()
                           << "]. Give costs in this range, or declare another with --cb_min_cost and --cb_max_cost.");
  }
  if (!(observed.probability > 0.f && observed.probability <= 1.f))
  {
    THROW("bad event: probability " << observed.probability << " of the chosen action is outside (0, 1]. Log the "
                                    << "probability with which the action was drawn.");
  }
  if (!(weight >= 0.f && std::isfinite(weight)))
  {
    THROW("bad event: its weight is " << weight << ". It must be finite and not negative (a pdrop must be below 1).");
  }
}

bool says_nothing(const VW::cb_class& entry) { return entry.cost == FLT_MAX; }

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

  const bool numbered = std::all_of(tokens[0].begin(), tokens[0].end(), [](char c) { return c >= '0' && c <= '9'; });
  if (fixed_actions && (!numbered || tokens[0].empty()))
  {
    THROW("bad event: action '" << tokens[0] << "' in the label '" << word
                                << "' is unknown. The actions of --cb_explore K are numbered 1 to K.");
  }
  entry.action = static_cast<uint32_t>(VW::details::hashstring(tokens[0].data(), tokens[0].length(), 0));
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

template <bool fixed_actions>
void parse_label(VW::polylabel& label, VW::reduction_features&, VW::label_parser_reuse_mem& memory,
    const VW::named_labels*, const std::vector<VW::string_view>& words, VW::io::logger&)
{
  label.cb.reset_to_default();
  for (const auto& word : words) { label.cb.costs.push_back(parse_entry(word, memory.tokens, fixed_actions)); }
}
}  // namespace

size_t observed_action(const VW::multi_ex& actions, const cost_range& range)
{
  size_t found = NO_ACTION;
  for (size_t a = 0; a < actions.size(); ++a)
  {
    for (const auto& entry : actions[a]->l.cb.costs)
    {
      if (entry.probability == -1.f && says_nothing(entry))
      {
        THROW("bad event: line " << a + 2 << " is 'shared'. Only the first line of an event may be.");
      }
      if (says_nothing(entry)) { continue; }
      check_observation(entry, actions[a]->weight, range);
      if (found != NO_ACTION) { THROW(TWO_LABELS); }
      found = a;
    }
  }
  return found;
}

size_t observed_action(const VW::example& ec, uint32_t count, const cost_range& range)
{
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
      strict.test_label = [](const VW::polylabel& label)
      {
        const auto& ccb = label.conditional_contextual_bandit;
        return ccb.type != VW::ccb_example_type::ACTION && ccb.is_test_label();
      };
      break;
    case VW::label_type_t::SLATES:
      strict.test_label = [](const VW::polylabel& label)
      { return label.slates.type != VW::slates::example_type::ACTION && !label.slates.labeled; };
      break;
    default:
      break;
  }
  return strict;
}
}  // namespace vw_fastcb

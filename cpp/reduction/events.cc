#include "events.h"

#include "vw/common/text_utils.h"
#include "vw/common/vw_exception.h"
#include "vw/core/example.h"
#include "vw/core/hashstring.h"

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace vw_fastcb
{
namespace
{
void check_observation(const VW::cb_class& observed, const cost_range& range)
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
}

bool says_nothing(const VW::cb_class& entry) { return entry.cost == FLT_MAX; }

constexpr const char* TWO_LABELS =
    "bad event: more than one action has a cost. Only the action that was chosen has one.";

// A number as the user wrote it; not a number gives NaN, which no check lets pass.
float as_written(VW::string_view token)
{
  const std::string text(token.data(), token.size());
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  return whole ? value : std::numeric_limits<float>::quiet_NaN();
}

VW::cb_class parse_entry(VW::string_view word, std::vector<VW::string_view>& tokens)
{
  VW::tokenize(':', word, tokens, /*allow_empty=*/true);
  const bool shared = !tokens.empty() && tokens[0] == VW::details::SHARED_TYPE;
  if (tokens.empty() || tokens.size() > (shared ? 1u : 3u))
  {
    THROW("bad event: the label '" << word << "' is not of the form action:cost:probability or shared.");
  }
  VW::cb_class entry;
  entry.action = static_cast<uint32_t>(VW::details::hashstring(tokens[0].data(), tokens[0].length(), 0));
  if (shared) { return entry; }  // the default, probability -1, is VW's mark for a line of shared features

  entry.probability = 0.f;
  if (tokens.size() > 1)
  {
    entry.cost = as_written(tokens[1]);
    // FLT_MAX is VW's mark for "no cost".
    if (entry.cost == FLT_MAX) { entry.cost = std::numeric_limits<float>::infinity(); }
  }
  if (tokens.size() > 2)
  {
    entry.probability = as_written(tokens[2]);
    if (entry.probability == -1.f) { entry.probability = std::nextafter(-1.f, -2.f); }
  }
  return entry;
}
}  // namespace

size_t observed_action(const VW::multi_ex& actions, const cost_range& range)
{
  size_t found = NO_ACTION;
  for (size_t a = 0; a < actions.size(); ++a)
  {
    for (const auto& entry : actions[a]->l.cb.costs)
    {
      if (says_nothing(entry)) { continue; }
      check_observation(entry, range);
      if (found != NO_ACTION) { THROW(TWO_LABELS); }
      found = a;
    }
  }
  return found;
}

size_t observed_action(const VW::cb_label& label, uint32_t count, const cost_range& range)
{
  size_t found = NO_ACTION;
  for (const auto& entry : label.costs)
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
    check_observation(entry, range);
    if (found != NO_ACTION) { THROW(TWO_LABELS); }
    found = entry.action - 1;
  }
  return found;
}

VW::label_parser keep_labels_as_written(const VW::label_parser& stock)
{
  if (stock.label_type != VW::label_type_t::CB) { return stock; }
  VW::label_parser strict = stock;
  strict.parse_label = [](VW::polylabel& label, VW::reduction_features&, VW::label_parser_reuse_mem& memory,
                           const VW::named_labels*, const std::vector<VW::string_view>& words, VW::io::logger&)
  {
    label.cb.reset_to_default();
    for (const auto& word : words) { label.cb.costs.push_back(parse_entry(word, memory.tokens)); }
  };
  return strict;
}
}  // namespace vw_fastcb

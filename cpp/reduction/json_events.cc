#include "json_events.h"

#include "events.h"

#include "vw/common/vw_exception.h"
#include "vw/core/cb.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/parser.h"

#include "fmt/format.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

namespace vw_fastcb
{
namespace
{
bool in_use(const VW::workspace& all) { return is_strict(all.parser_runtime.example_parser->lbl_parser); }

bool has_bandit_label(const VW::workspace& all, const VW::example& line)
{
  const auto& costs = line.l.cb.costs;
  return all.parser_runtime.example_parser->lbl_parser.label_type == VW::label_type_t::CB &&
         std::any_of(costs.begin(), costs.end(), [](const VW::cb_class& entry) { return entry.cost != FLT_MAX; });
}
}  // namespace

std::string problem_with_action(const VW::label_parser& labels, float number)
{
  constexpr float TOO_LARGE = 4294967296.f;
  if (!is_strict(labels) || (number >= 0.f && number < TOO_LARGE && number == std::floor(number))) { return ""; }
  return fmt::format("bad event: action {} is unknown. Actions are whole numbers. ", number);
}

void check_slot_label(const VW::label_parser& labels, size_t actions, size_t probabilities, bool has_cost)
{
  const bool good = actions == probabilities && (actions > 0 || !has_cost);
  if (good || !is_strict(labels)) { return; }
  THROW("bad event: a slot has " << actions << " actions in _a and " << probabilities
                                 << " probabilities in _p. Expected as many, those of the chosen action first.");
}

bool skips_line(const VW::workspace& all, const char* line, bool vw_skips_it)
{
  if (!in_use(all)) { return vw_skips_it; }
  const char* const start = line + std::strspn(line, " \t\r\n");
  if (*start == '{') { return false; }
  constexpr size_t SHOWN = 40;
  if (*start != '\0')
  {
    THROW("bad event: the line '" << std::string(line, strnlen(line, SHOWN))
                                  << "' is not a JSON object. Expected a line that begins with '{'.");
  }
  return true;
}

void check_drop_probability(const VW::workspace& all, float drop_probability)
{
  if (!in_use(all) || (drop_probability >= 0.f && drop_probability < 1.f)) { return; }
  THROW("bad event: its pdrop is " << drop_probability << ", which is outside [0, 1).");
}

void refuse_lost_label(const VW::workspace& all, bool label_left)
{
  const auto& labels = all.parser_runtime.example_parser->lbl_parser;
  if (!in_use(all) || labels.label_type != VW::label_type_t::CB || !label_left) { return; }
  THROW(
      "bad event: its label belongs to no action. Expected the label before the context \"c\", an object with "
      "actions.");
}

bool skips_event_without_ids(const VW::workspace& all, const VW::multi_ex& lines)
{
  if (!in_use(all)) { return true; }
  if (lines.size() == 1 && has_bandit_label(all, *lines[0]))
  {
    THROW("bad event: it has a label and no actions. Expected actions in _multi.");
  }
  return lines.size() == 1;
}
}  // namespace vw_fastcb

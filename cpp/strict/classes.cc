#include "classes.h"

#include "bad_event.h"

#include "vw/core/example.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vw_fastcb
{
namespace
{
void check_class(uint32_t number, uint32_t count)
{
  if (number >= 1 && number <= count) { return; }
  refuse(fmt::format("class {} is unknown. The classes of --cbify {} are numbered 1 to {}.", number, count, count));
}

void check_cost(const VW::cs_class& entry, const class_rules& rules, const cost_range& range)
{
  const float becomes = rules.lowest + (rules.highest - rules.lowest) * entry.x;
  if (range.contains(becomes)) { return; }
  refuse(fmt::format("cost {} of class {}{} is outside [{}, {}]. Give costs from 0 to 1.", entry.x, entry.class_index,
      becomes == entry.x ? "" : fmt::format(", which --loss0 and --loss1 turn into {},", becomes), range.lowest(),
      range.highest()));
}
}  // namespace

void check_class(const VW::multiclass_label& label, const class_rules& rules)
{
  if (!label.is_labeled()) { return; }
  check_class(label.label, rules.count);
  if (!(label.weight >= 0.f && std::isfinite(label.weight)))
  {
    refuse(fmt::format("its weight is {}. It must be finite and not negative.", label.weight));
  }
}

void check_costs(const VW::cs_label& label, const class_rules& rules, const cost_range& range)
{
  if (label.is_test_label()) { return; }
  std::vector<bool> seen(rules.count, false);
  for (const auto& entry : label.costs)
  {
    check_class(entry.class_index, rules.count);
    check_cost(entry, rules, range);
    if (seen[entry.class_index - 1]) { refuse(fmt::format("class {} has two costs. Give one.", entry.class_index)); }
    seen[entry.class_index - 1] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) { return; }
  refuse(fmt::format(
      "class {} has no cost, and VW would take it for 0. Give a cost for each of the {} classes, or none to ask for a "
      "prediction.",
      missing - seen.begin() + 1, rules.count));
}

void check_costs(const VW::multi_ex& lines, bool will_learn, const class_rules& rules, const cost_range& range)
{
  const auto is_header = [](const VW::example* line) { return VW::is_cs_example_header(*line); };
  if (std::any_of(lines.begin(), lines.end(), is_header))
  {
    refuse("it has a shared line, which --cbify_ldf would take for a class. Repeat the features on each line.");
  }
  const auto has_no_cost = [](const VW::example* line) { return line->l.cs.is_test_label(); };
  if (!will_learn && std::all_of(lines.begin(), lines.end(), has_no_cost)) { return; }
  for (size_t i = 0; i < lines.size(); ++i)
  {
    const auto& costs = lines[i]->l.cs.costs;
    if (costs.size() != 1 || costs[0].class_index != i + 1 || has_no_cost(lines[i]))
    {
      refuse(fmt::format(
          "line {} of the event does not give the cost of class {}. With --cbify_ldf, give each line its number and "
          "its cost, here '{}:cost |'.",
          i + 1, i + 1, i + 1));
    }
    check_cost(costs[0], rules, range);
  }
}
}  // namespace vw_fastcb

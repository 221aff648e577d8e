// What labels may say with --cbify, which makes bandit events of classes or of their costs. VW takes any number for a
// class, a weight that is no number for 0, and a class without a cost for one that costs nothing.
#pragma once

#include "cost_range.h"

#include "vw/core/cost_sensitive.h"
#include "vw/core/multi_ex.h"
#include "vw/core/multiclass.h"

#include <cstdint>

namespace vw_fastcb
{
struct class_rules
{
  uint32_t count = 0;   // the K of --cbify K
  float lowest = 0.f;   // --loss0, what a cost of 0 becomes
  float highest = 1.f;  // --loss1, what a cost of 1 becomes
};

// Each refuses a bad label; one that is empty asks for a prediction.
void check_class(const VW::multiclass_label& label, const class_rules& rules);
void check_costs(const VW::cs_label& label, const class_rules& rules, const cost_range& range);

// With --cbify_ldf, each line is a class. VW cannot learn from an event without costs.
void check_costs(const VW::multi_ex& lines, bool will_learn, const class_rules& rules, const cost_range& range);
}  // namespace vw_fastcb

// What VW's JSON parsers ask where they would cut, drop or skip in silence. Without FastCB all of it answers as VW
// does.
#pragma once

#include "events.h"

#include "vw/core/label_parser.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <string>

namespace vw_fastcb
{
// What is wrong with a number that stands for an action; empty where nothing is.
std::string problem_with_action(const VW::label_parser& labels, float number);

// VW casts an action such as 1.9 or 5e9 to a whole number of 32 bits. Tells the parser's context of the problem, if
// any.
template <typename ParserContext>
bool refuses_action(ParserContext& context, float number)
{
  const auto problem = problem_with_action(context._label_parser, number);
  if (problem.empty()) { return false; }
  context.error() << problem;
  return true;
}

// VW drops the label of a slot that lacks its actions or its probabilities. Throws.
void check_slot_label(const VW::label_parser& labels, size_t actions, size_t probabilities, bool has_cost);

// VW passes over a null in an array of actions, and the ones behind it move up.
template <typename ParserContext>
bool refuses_null(ParserContext& context)
{
  if (!is_strict(context._label_parser)) { return false; }
  context.error() << "bad event: a null stands among the actions or slots. Expected objects. ";
  return true;
}

// VW skips lines that are no JSON objects, or crashes. Throws, unless the line is blank, which is skipped.
bool skips_line(const VW::workspace& all, const char* line, bool vw_skips_it);

// VW logs and skips events with pdrop 1, and takes others as they are. Throws where it is outside [0,1).
void check_drop_probability(const VW::workspace& all, float drop_probability);

// VW applies a label when the context "c" ends: one that comes later, or without a context, is lost. Throws.
void refuse_lost_label(const VW::workspace& all, bool label_left);

// VW skips events without "a", the ids of the actions. Only those that have no actions at all are skipped here; one
// that has none and yet a label throws.
bool skips_event_without_ids(const VW::workspace& all, const VW::multi_ex& lines);
}  // namespace vw_fastcb

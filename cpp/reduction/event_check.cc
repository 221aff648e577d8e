// A learner that changes nothing: it stands above VW's translations of events with several lines and refuses bad ones
// as the user gave them, before any part of them is predicted or learned.
#include "events.h"
#include "fastcb.h"
#include "slot_events.h"

#include "vw/common/vw_exception.h"
#include "vw/config/options.h"
#include "vw/core/cb.h"
#include "vw/core/example.h"
#include "vw/core/learner.h"
#include "vw/core/setup_base.h"

namespace
{
using VW::LEARNER::learner;

struct event_check
{
  VW::label_type_t labels;
  vw_fastcb::cost_range range;

  void operator()(const VW::multi_ex& lines) const
  {
    if (labels == VW::label_type_t::CCB) { vw_fastcb::check_conditional_event(lines, range); }
    else if (labels == VW::label_type_t::SLATES) { vw_fastcb::check_slates_event(lines, range); }
    else if (lines.size() == 1 && VW::ec_is_example_header_cb(*lines[0]))
    {
      THROW("bad event: it has shared features and no action. Give it at least one action.");
    }
  }
};

template <bool is_learn>
void check_and_pass_on(event_check& check, learner& base, VW::multi_ex& lines)
{
  check(lines);
  if (is_learn) { base.learn(lines); }
  else { base.predict(lines); }
}
}  // namespace

std::shared_ptr<learner> VW::reductions::fastcb_event_check_setup(VW::setup_base_i& stack_builder)
{
  auto& options = *stack_builder.get_options();
  if (!options.was_supplied("fastcb")) { return nullptr; }
  auto base = stack_builder.setup_base_learner();
  // cbify makes its events itself.
  if (base == nullptr || !base->is_multiline() || options.was_supplied("cbify")) { return base; }

  const auto bound = [&options](const char* name) { return options.get_typed_option<float>(name).value(); };
  const vw_fastcb::cost_range range(bound("cb_min_cost"), bound("cb_max_cost"));
  auto check = VW::make_unique<event_check>(event_check{base->get_input_label_type(), range});
  return VW::LEARNER::make_reduction_learner(
      std::move(check), base, check_and_pass_on<true>, check_and_pass_on<false>, "fastcb_event_check")
      .set_learn_returns_prediction(base->learn_returns_prediction)
      .build();
}

// An event of a VW workspace: its interactions, how its features become keys, and its features where VW does more with
// them than multiply pairs of namespaces.
#pragma once

#include "event.h"
#include "explanation.h"

#include "vw/core/example.h"
#include "vw/core/interactions.h"
#include "vw/core/vw_fwd.h"

namespace vw_fastcb
{
inline feature_span span_of(const VW::example& ec, VW::namespace_index name_space)
{
  const auto& features = ec.feature_space[name_space];
  return {features.values.begin(), features.indices.begin(), features.size(), name_space};
}

class vw_event : public event
{
public:
  explicit vw_event(VW::workspace& all) : _all(&all) {}

  // The terms of a line, by name, for explanations: without weights.
  std::vector<explained_term> terms(size_t line);

protected:
  // Begins an event with these interactions, which are those of the workspace or an example's own.
  void start(size_t actions, bool has_slots, uint64_t offset, const interaction_list& interactions,
      const std::vector<std::vector<VW::extent_term>>& extent_interactions);

  void read_as_vw_does(size_t line, feature_list& read) override;

  VW::workspace* _all;

private:
  template <typename Work>
  void with_interactions(VW::example& ec, Work work);
  void generate_interactions(const VW::example& ec);

  VW::interactions_generator _generator;  // finds out what ':' stands for in -q ::
};
}  // namespace vw_fastcb

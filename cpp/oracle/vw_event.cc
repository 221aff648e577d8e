#include "vw_event.h"

#include "explanation.h"

#include "vw/config/options.h"
#include "vw/core/global_data.h"
#include "vw/core/reductions/gd.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace vw_fastcb
{
namespace
{
template <typename Terms>
bool have_wildcard(const Terms& interactions)
{
  return std::any_of(
      interactions.begin(), interactions.end(), [](const auto& terms) { return VW::contains_wildcard(terms); });
}

// Puts the interactions of an example back to what they were.
class own_interactions
{
public:
  explicit own_interactions(VW::example& ec)
      : _ec(ec)
      , _interactions(ec.interactions)
      , _extent_interactions(ec.extent_interactions)
  {
  }
  ~own_interactions()
  {
    _ec.interactions = _interactions;
    _ec.extent_interactions = _extent_interactions;
  }
  own_interactions(const own_interactions&) = delete;
  own_interactions& operator=(const own_interactions&) = delete;

private:
  VW::example& _ec;
  decltype(VW::example::interactions) _interactions;
  decltype(VW::example::extent_interactions) _extent_interactions;
};

struct indexed_features
{
  std::vector<uint64_t>& keys;
  std::vector<float>& values;
};

void add_feature(indexed_features& read, float value, uint64_t index)
{
  read.keys.push_back(index);
  const float bounded = std::max(-FLT_MAX, std::min(FLT_MAX, value));  // a product may overflow
  read.values.push_back(std::isnan(value) ? 0.f : bounded);
}
}  // namespace

void vw_event::start(size_t actions, bool has_slots, uint64_t offset, const interaction_list& interactions,
    const std::vector<std::vector<VW::extent_term>>& extent_interactions)
{
  event::start(actions, has_slots);
  _interactions = &interactions;
  _is_plain = !_all->feature_tweaks_config.ignore_some_linear && extent_interactions.empty() &&
              are_pairs(interactions) && !have_wildcard(interactions);
  const auto& weights = _all->weights.dense_weights;
  // With -t there is less room between weights; keys are the same.
  _layout = {offset, weights.mask(), weights.stride_shift()};
}

// As VW's reduction of this name, which stands below FastCB where there are wildcards.
void vw_event::generate_interactions(const VW::example& ec)
{
  using ns = VW::namespace_index;
  using extent = VW::extent_term;
  const bool has_extents = !ec.extent_interactions->empty();
  if (_all->options->was_supplied("leave_duplicate_interactions"))
  {
    constexpr auto pick = VW::details::generate_namespace_permutations_with_repetition<ns>;
    constexpr auto pick_extents = VW::details::generate_namespace_permutations_with_repetition<extent>;
    _generator.update_interactions_if_new_namespace_seen<pick, true>(*ec.interactions, ec.indices);
    if (!has_extents) { return; }
    _generator.update_extent_interactions_if_new_namespace_seen<pick_extents, true>(
        *ec.extent_interactions, ec.indices, ec.feature_space);
    return;
  }
  constexpr auto pick = VW::details::generate_namespace_combinations_with_repetition<ns>;
  constexpr auto pick_extents = VW::details::generate_namespace_combinations_with_repetition<extent>;
  _generator.update_interactions_if_new_namespace_seen<pick, false>(*ec.interactions, ec.indices);
  if (!has_extents) { return; }
  _generator.update_extent_interactions_if_new_namespace_seen<pick_extents, false>(
      *ec.extent_interactions, ec.indices, ec.feature_space);
}

template <typename Work>
void vw_event::with_interactions(VW::example& ec, Work work)
{
  const own_interactions put_back(ec);
  if (have_wildcard(*ec.interactions) || have_wildcard(*ec.extent_interactions))
  {
    generate_interactions(ec);
    ec.interactions = &_generator.generated_interactions;
    if (!ec.extent_interactions->empty()) { ec.extent_interactions = &_generator.generated_extent_interactions; }
  }
  work();
}

void vw_event::read_as_vw_does(size_t line, feature_list& read)
{
  const whole_line whole(*this, line);
  auto& ec = whole.example;
  read.keys.clear();
  read.values.clear();
  indexed_features features{read.keys, read.values};
  with_interactions(ec,
      [&]
      {
        VW::foreach_feature<indexed_features, uint64_t, add_feature>(
            *_all, ec, features, ec.num_features_from_interactions);
      });
  read.products = ec.num_features_from_interactions;
  for (auto& key : read.keys) { key = (key & _layout.mask) >> _layout.shift; }
}

std::vector<explained_term> vw_event::terms(size_t line)
{
  const whole_line whole(*this, line);
  std::vector<explained_term> terms;
  with_interactions(whole.example, [&] { terms = terms_of(*_all, whole.example); });
  return terms;
}
}  // namespace vw_fastcb

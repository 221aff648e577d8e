#include "explanation.h"

#include "vw/core/feature_group.h"
#include "vw/core/global_data.h"
#include "vw/core/interactions_predict.h"

#include <cfloat>
#include <cmath>
#include <unordered_map>

namespace vw_fastcb
{
namespace
{
class collector
{
public:
  explicit collector(uint64_t mask) : _mask(mask) {}

  void add(const std::string& name, float value, uint64_t index)
  {
    if (!std::isfinite(value)) { value = std::isnan(value) ? 0.f : std::copysign(FLT_MAX, value); }  // it overflowed
    index &= _mask;
    const auto [known, is_new] = _place_of.emplace(index, terms.size());
    if (is_new)
    {
      terms.push_back({name, index, double{value}, {}, {}});
      return;
    }
    auto& term = terms[known->second];
    term.name += "+" + name;
    term.value += double{value};
  }

  // VW tells the features of a product one by one: each is entered, and left again by a null.
  void enter(const VW::audit_strings* feature)
  {
    if (feature == nullptr) { _product.pop_back(); }
    else { _product.push_back(feature->name); }
  }

  void add_product(float value, uint64_t index)
  {
    std::string name;
    for (const auto& feature : _product) { name += (name.empty() ? "" : "*") + feature; }
    add(name, value, index);
  }

  std::vector<explained_term> terms;

private:
  uint64_t _mask;
  std::unordered_map<uint64_t, size_t> _place_of;
  std::vector<std::string> _product;
};

void add_product(collector& found, float value, uint64_t index) { found.add_product(value, index); }
void enter(collector& found, const VW::audit_strings* feature) { found.enter(feature); }
}  // namespace

std::vector<explained_term> terms_of(VW::workspace& all, VW::example& ec)
{
  auto& weights = all.weights.dense_weights;
  const auto& tweaks = all.feature_tweaks_config;
  collector found(weights.mask());
  for (const auto ns : ec.indices)
  {
    if (tweaks.ignore_some_linear && tweaks.ignore_linear[ns]) { continue; }
    const auto& features = ec.feature_space[ns];
    for (size_t i = 0; i < features.size(); ++i)
    {
      const auto& name = i < features.space_names.size() ? features.space_names[i].name : std::string();
      found.add(name, features.values[i], features.indices[i] + ec.ft_offset);
    }
  }
  size_t count = 0;
  VW::details::generate_interactions_object_cache cache;
  VW::generate_interactions<collector, uint64_t, add_product, /*audit=*/true, enter>(
      *ec.interactions, *ec.extent_interactions, tweaks.permutations, ec, found, weights, count, cache);
  return std::move(found.terms);
}
}  // namespace vw_fastcb

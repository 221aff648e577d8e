#include "products.h"

#include "bad_event.h"

#include "vw/core/cb.h"
#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"

#include "fmt/format.h"
#include "fmt/ranges.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace vw_fastcb
{
namespace
{
bool has_interactions(const VW::workspace& all)
{
  const auto& tweaks = all.feature_tweaks_config;
  return !tweaks.interactions.empty() || !tweaks.extent_interactions.empty();
}

size_t longest_interaction(const VW::workspace& all)
{
  size_t longest = 1;
  const auto& tweaks = all.feature_tweaks_config;
  for (const auto& terms : tweaks.interactions) { longest = std::max(longest, terms.size()); }
  for (const auto& terms : tweaks.extent_interactions) { longest = std::max(longest, terms.size()); }
  return longest;
}

// No value is larger than the root of its namespace's sum of squares.
float largest_harmless_square(const VW::workspace& all)
{
  const auto factors = static_cast<double>(longest_interaction(all));
  // A product of two squares' roots is as large as the larger square: for pairs, which are what people use, this is
  // all.
  if (factors <= 2.) { return FLT_MAX; }
  return static_cast<float>(.999 * std::pow(double{FLT_MAX}, 2. / factors));
}
}  // namespace

void largest_values::add(const VW::example& line)
{
  for (const auto ns : line.indices)
  {
    for (const float value : line.feature_space[ns].values) { add(ns, value); }
  }
}

float largest_values::largest(unsigned char name_space) const
{
  return name_space == VW::details::WILDCARD_NAMESPACE ? _of_all : _of[name_space];
}

template <typename Terms, typename NameOf>
bool largest_values::has_finite_product(const Terms& terms, NameOf name_of) const
{
  float product = 1.f;
  bool so_far = true;
  for (const auto& term : terms)
  {
    const float factor = largest(name_of(term));
    if (factor == NONE) { return true; }  // there is no such product
    product *= factor;
    so_far = so_far && std::isfinite(product);  // the next factor may be 0
  }
  return so_far;
}

template <typename Terms, typename NameOf>
std::vector<float> largest_values::factors(const Terms& terms, NameOf name_of) const
{
  std::vector<float> all;
  for (const auto& term : terms) { all.push_back(largest(name_of(term))); }
  return all;
}

std::vector<float> largest_values::too_large_product(const VW::workspace& all) const
{
  const auto name_of = [](VW::namespace_index ns) { return ns; };
  for (const auto& terms : all.feature_tweaks_config.interactions)
  {
    if (!has_finite_product(terms, name_of)) { return factors(terms, name_of); }
  }
  const auto name_of_extent = [](const VW::extent_term& term) { return term.first; };
  for (const auto& terms : all.feature_tweaks_config.extent_interactions)
  {
    if (!has_finite_product(terms, name_of_extent)) { return factors(terms, name_of_extent); }
  }
  return {};
}

void largest_values::check(const VW::workspace& all) const
{
  const auto factors = too_large_product(all);
  if (factors.empty()) { return; }
  refuse(
      fmt::format("a product of features in an interaction is too large for single precision: {}. Give smaller values, "
                  "or leave the interaction out.",
          fmt::join(factors, " * ")));
}

void check_products(const VW::workspace& all, const VW::example& line, float largest_square)
{
  if (!has_interactions(all) || largest_square < largest_harmless_square(all)) { return; }
  largest_values values;
  values.add(line);
  values.check(all);
}

void check_products(const VW::workspace& all, const VW::multi_ex& lines, float largest_square, bool has_slots)
{
  if (!has_interactions(all) || largest_square < largest_harmless_square(all)) { return; }
  largest_values shared;
  const bool has_shared = !has_slots && VW::ec_is_example_header_cb(*lines[0]);
  if (has_shared) { shared.add(*lines[0]); }
  for (size_t i = has_shared ? 1 : 0; i < lines.size(); ++i)
  {
    auto values = shared;
    values.add(*lines[i]);
    if (has_slots) { shared = values; }
    values.check(all);
  }
}
}  // namespace vw_fastcb

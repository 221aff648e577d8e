#include "features.h"

#include "bad_event.h"

#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"

#include "fmt/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace vw_fastcb
{
namespace
{
// Where no sum of squares is larger, a product of as many as this many features cannot overflow. Few events have
// features this large, so that few are looked at more closely.
constexpr float SURELY_SMALL = 1e9f;
constexpr size_t SURELY_FEW = 4;

std::string name_of(VW::namespace_index ns)
{
  const bool printable = ns > 0x20 && ns < 0x7f;
  return printable   ? fmt::format("'{}'", static_cast<char>(ns))
         : ns == ' ' ? "without a name"
                     : fmt::format("{:#x}", ns);
}

void check_values(const VW::features& features, VW::namespace_index ns)
{
  for (const float value : features.values)
  {
    if (!std::isfinite(value))
    {
      refuse(fmt::format("a feature of namespace {} has the value {} in single precision. Expected finite numbers.",
          name_of(ns), value));
    }
    if (!std::isfinite(value * value))
    {
      refuse(
          fmt::format("a feature of namespace {} has the value {}, whose square is infinite in single precision. "
                      "Expected smaller numbers: scale the feature down.",
              name_of(ns), value));
    }
  }
}

bool surely_small(const VW::example& line)
{
  return std::all_of(line.indices.begin(), line.indices.end(),
      [&line](VW::namespace_index ns) { return std::abs(line.feature_space[ns].sum_feat_sq) <= SURELY_SMALL; });
}

template <typename Lines>
void look_closer(const VW::workspace& all, const Lines& lines)
{
  sums_of_squares sums{};  // of all lines together: an upper bound for what any merged line can have
  for (const VW::example* line : lines)
  {
    for (const auto ns : line->indices)
    {
      check_values(line->feature_space[ns], ns);
      sums[ns] += line->feature_space[ns].sum_feat_sq;
    }
  }
  check_products(all, sums);
}

bool few_are_crossed(const VW::workspace& all)
{
  const auto& crossed = all.feature_tweaks_config.interactions;
  return std::all_of(crossed.begin(), crossed.end(), [](const auto& one) { return one.size() <= SURELY_FEW; });
}
}  // namespace

void check_products(const VW::workspace& all, const sums_of_squares& sums)
{
  const auto most = *std::max_element(sums.begin(), sums.end());
  for (const auto& interaction : all.feature_tweaks_config.interactions)
  {
    double product = 1.;
    for (const auto ns : interaction) { product *= ns == VW::details::WILDCARD_NAMESPACE ? most : sums[ns]; }
    if (!std::isfinite(static_cast<float>(product)))
    {
      refuse(
          fmt::format("features are so large that their products, made by the interaction '{}', are infinite in "
                      "single precision. Expected smaller numbers: scale the features down.",
              std::string(interaction.begin(), interaction.end())));
    }
  }
}

void check_features(const VW::workspace& all, const VW::multi_ex& lines)
{
  const bool small =
      std::all_of(lines.begin(), lines.end(), [](const VW::example* line) { return surely_small(*line); });
  if (!small || !few_are_crossed(all)) { look_closer(all, lines); }
}

void check_features(const VW::workspace& all, const VW::example& line)
{
  if (!surely_small(line) || !few_are_crossed(all)) { look_closer(all, std::array<const VW::example*, 1>{&line}); }
}
}  // namespace vw_fastcb

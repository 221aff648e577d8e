#include "features.h"

#include "bad_event.h"

#include "vw/core/example.h"

#include "fmt/format.h"

#include <cmath>
#include <string>

namespace vw_fastcb
{
namespace
{
std::string name_of(VW::namespace_index ns)
{
  if (ns == ' ') { return "without a name"; }
  const bool printable = ns > ' ' && ns < 0x7f;
  return printable ? fmt::format("'{}'", static_cast<char>(ns)) : fmt::format("{:#x}", ns);
}
}  // namespace

void check_features(const VW::example& line)
{
  for (const auto ns : line.indices)
  {
    const auto& features = line.feature_space[ns];
    // If the sum of squares is finite, every feature is. Otherwise look at each.
    if (std::isfinite(features.sum_feat_sq)) { continue; }
    for (const float value : features.values)
    {
      if (!std::isfinite(value))
      {
        refuse(fmt::format("a feature in namespace {} has the value {} in single precision. Give a finite number.",
            name_of(ns), value));
      }
    }
  }
}

void check_features(const VW::multi_ex& lines)
{
  for (const auto* line : lines) { check_features(*line); }
}
}  // namespace vw_fastcb

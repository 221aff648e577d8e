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
    // Where the squares add up to a finite number, every feature is one. Only large ones are looked at one by one.
    if (std::isfinite(features.sum_feat_sq)) { continue; }
    for (const float value : features.values)
    {
      if (!std::isfinite(value))
      {
        refuse(fmt::format("a feature of namespace {} has the value {} in single precision. Expected finite numbers.",
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

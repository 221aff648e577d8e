#include "features.h"

#include "bad_event.h"

#include "vw/core/example.h"

#include "fmt/format.h"

#include <cfloat>
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

void check_each(const VW::features& features, VW::namespace_index ns)
{
  for (const float value : features.values)
  {
    if (!std::isfinite(value))
    {
      refuse(fmt::format(
          "a feature in namespace {} has the value {} in single precision. Give a finite number.", name_of(ns), value));
    }
  }
}

float largest_square_of(const VW::example& line, float largest)
{
  for (const auto ns : line.indices)
  {
    const auto& features = line.feature_space[ns];
    const float square = features.sum_feat_sq;
    // If the sum of squares is finite, every feature is. Otherwise look at each.
    if (!(square <= FLT_MAX))
    {
      check_each(features, ns);
      largest = INFINITY;
    }
    else if (square > largest) { largest = square; }
  }
  return largest;
}
}  // namespace

float check_features(const VW::example& line) { return largest_square_of(line, 0.f); }

float check_features(const VW::multi_ex& lines)
{
  float largest = 0.f;
  for (const auto* line : lines) { largest = largest_square_of(*line, largest); }
  return largest;
}
}  // namespace vw_fastcb

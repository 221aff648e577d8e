// Products of features that single precision cannot hold. VW's regressor would multiply an infinite one with a weight
// of 0, or learn from it: a prediction and weights that are no numbers. The second-order oracle bounds products itself.
#pragma once

#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace vw_fastcb
{
// The largest value in each namespace, regardless of signs.
class largest_values
{
public:
  largest_values() { _of.fill(NONE); }
  void add(const VW::example& line);
  void add(unsigned char name_space, float value)
  {
    _of[name_space] = std::max(_of[name_space], std::fabs(value));
    _of_all = std::max(_of_all, std::fabs(value));
  }

  // Whether every product that the workspace's interactions make of such features is finite.
  bool can_be_multiplied(const VW::workspace& all) const { return too_large_product(all).empty(); }

  // Refuses an event with such features if not.
  void check(const VW::workspace& all) const;

private:
  static constexpr float NONE = -1.f;

  // The factors of a product that is not finite; none if all are.
  std::vector<float> too_large_product(const VW::workspace& all) const;
  template <typename Terms, typename NameOf>
  bool has_finite_product(const Terms& terms, NameOf name_of) const;
  template <typename Terms, typename NameOf>
  std::vector<float> factors(const Terms& terms, NameOf name_of) const;
  float largest(unsigned char name_space) const;

  std::array<float, 256> _of;
  float _of_all = NONE;
};

// Both refuse an event with such a product. There can be none where no namespace's squares add up to much, which is
// nearly always so. In an event of several lines, each action has the features of the shared line, too; in one with
// slots anything may meet anything.
void check_products(const VW::workspace& all, const VW::example& line, float largest_square);
void check_products(const VW::workspace& all, const VW::multi_ex& lines, float largest_square, bool has_slots);
}  // namespace vw_fastcb

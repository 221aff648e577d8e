// The declared range of costs, and the map from it to [0,1].
#pragma once

namespace vw_fastcb
{
class cost_range
{
public:
  cost_range(double lowest, double highest) : _lowest(lowest), _highest(highest) {}
  bool contains(float cost) const { return cost >= _lowest && cost <= _highest; }  // false for NaN
  float to_unit(float cost) const { return static_cast<float>((cost - _lowest) / (_highest - _lowest)); }
  double lowest() const { return _lowest; }
  double highest() const { return _highest; }

private:
  double _lowest;
  double _highest;
};
}  // namespace vw_fastcb

// How far a regression of second order goes along its direction, so that log loss becomes smaller and no step goes too
// far, whatever the weight of an event.
#pragma once

namespace vw_fastcb
{
struct step_length
{
  double by;         // times the direction
  double shrinkage;  // of the covariance along it
  double curvature;  // of the loss
};

// A step from a logit of this variance towards an outcome in [0,1].
step_length step_towards(double outcome, double logit, double variance, double weight);
}  // namespace vw_fastcb

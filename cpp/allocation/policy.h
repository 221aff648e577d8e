// How FastCB turns predictions into probabilities: what it adapts to, which rule allocates, the schedule of gamma, and
// the floor. A value: predictions go in, a pmf comes out. Nothing here knows about Vowpal Wabbit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// Costs, as losses in [0,1]; or rewards; or in each event whichever is smaller.
enum class objective
{
  loss,
  reward,
  both
};

// FastCB's rule, or SquareCB's.
enum class allocation_rule
{
  reweighted,
  igw
};

// What gamma depends on.
struct experience
{
  uint64_t events = 0;  // learned
  double loss = 0.;     // of these, in [0,1] each; the reward, where the regressor predicts rewards
  double weights = 0.;  // of the regressor
};

struct policy
{
  objective adapts_to = objective::loss;
  allocation_rule rule = allocation_rule::reweighted;
  bool has_epochs = false;  // else gamma is a power of the number of events
  double gamma_scale = 10.;
  double gamma_exponent = .5;
  double regret = 0.;  // for epochs: a bound on the regressor's, or 0 for an estimate
  double epsilon = 0.;
  double optimism = 0.;          // deviations below the predicted cost from which the rule allocates
  bool limits_certainty = true;  // with epochs, no action is taken to be surer than the events so far allow

  // Whether the first logit belongs to a better action than the second.
  bool better(float logit, float other) const { return adapts_to == objective::reward ? logit > other : logit < other; }

  // A cost in [0,1] as what the regressor predicts.
  float to_outcome(float cost) const { return adapts_to == objective::reward ? 1.f - cost : cost; }

  // By how many deviations a logit is to be moved towards the better, before it is allocated.
  double shift() const { return adapts_to == objective::reward ? optimism : -optimism; }

  double gamma(const experience& learned, size_t actions) const;

  // Fills `predictions`, losses or rewards in [0,1], and the probabilities of as many actions.
  void allocate(const std::vector<float>& logits, const experience& learned, std::vector<double>& predictions,
      std::vector<double>& pmf) const;
};
}  // namespace vw_fastcb

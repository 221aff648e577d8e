// The allocation rules of contextual bandits that reduce to regression: they turn one prediction per action into a
// probability mass function. Pure arithmetic in double precision; nothing here knows about Vowpal Wabbit.
//
//   reweighted_igw          FastCB, Foster and Krishnamurthy (2021), https://arxiv.org/abs/2107.02237, Algorithm 1
//   igw                     SquareCB, Foster and Rakhlin (2020), https://arxiv.org/abs/2002.04926
//   reweighted_igw_rewards  FastCB's extension to small rewards
//   reweighted_igw_both     ours: in each round, the one of the two whose best prediction is smaller
//
// Every function writes a pmf for any finite input in [0,1] and any gamma in [0, infinity]: entries are in [0,1] and
// sum to one up to rounding. Two actions with equal predictions get equal probability, whatever gamma is, except for
// the best one itself (the first of the ties), which takes what the others leave.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vw_fastcb
{
// 1 / (1 + exp(-logit)) of every logit, without overflow, within four units in the last place. The result for a logit
// does not depend on its neighbours or its position.
void sigmoids(const float* logits, size_t count, double* probabilities);

// gamma_t = scale * t^exponent, the schedule of the paper's experiments. Zero rounds of learning give gamma 0, a
// uniform pmf, unless the exponent is 0 (a constant gamma).
double power_gamma(double scale, double exponent, uint64_t rounds);

// The theory's choice, max(sqrt(A L / (3 regret)), 10 A), where the best policy's loss is not known: for L the
// learner's own loss so far is taken, rounded up to a power of two, so that gamma changes when an epoch ends and at no
// other time. `regret` is the regressor's, under log loss. For rewards, the reward so far takes the place of the loss.
double epochs_gamma(double loss, double regret, size_t actions);

// The smallest power of two that is not below `number`; at least 1.
double power_of_two_above(double number);

// p_a = y_b / (A y_b + gamma (y_a - y_b)) with b = argmin y. `losses` and `pmf` may be the same array.
void reweighted_igw(const double* losses, size_t count, double gamma, double* pmf);

// p_a = 1 / (A + gamma (y_a - y_b)) with b = argmin y. `losses` and `pmf` may be the same array.
void igw(const double* losses, size_t count, double gamma, double* pmf);

// p_a = y_b / (A y_b + gamma (y_b - y_a)) with b = argmax y. `rewards` and `pmf` may be the same array.
void reweighted_igw_rewards(const double* rewards, size_t count, double gamma, double* pmf);

// p_a = w / (A w + gamma (y_a - y_b)) with b = argmin y and w = min(y_b, 1 - y_b): where the best action costs at most
// one half this is reweighted_igw, elsewhere reweighted_igw_rewards of 1 - y. Every round satisfies the inequality of
// its own rule, so what is summed over rounds is the loss of some and the reward of the others, whichever is smaller.
// `losses` and `pmf` may be the same array.
void reweighted_igw_both(const double* losses, size_t count, double gamma, double* pmf);

// Raises every entry to at least epsilon / count and takes the mass from what the others have above that floor, in
// proportion. Leaves a pmf that already respects the floor as it is (up to rounding).
void enforce_floor(double* pmf, size_t count, double epsilon);
}  // namespace vw_fastcb

#include "allocation/allocation.h"
#include "allocation/policy.h"
#include "unit_tests.h"

#include <algorithm>
#include <numeric>
#include <vector>

using vw_fastcb::allocation_rule;
using vw_fastcb::experience;
using vw_fastcb::objective;
using vw_fastcb::policy;

namespace
{
float logit_of(double probability) { return static_cast<float>(std::log(probability / (1. - probability))); }

std::vector<float> logits_of(const std::vector<double>& probabilities)
{
  std::vector<float> logits;
  for (const double p : probabilities) { logits.push_back(logit_of(p)); }
  return logits;
}

experience after(uint64_t events)
{
  experience learned;
  learned.events = events;
  return learned;
}

std::vector<double> pmf_of(const policy& own, const std::vector<double>& outcomes, const experience& learned)
{
  std::vector<double> predictions;
  std::vector<double> pmf;
  own.allocate(logits_of(outcomes), learned, predictions, pmf);
  EXPECT_EQUAL(predictions.size(), outcomes.size());
  for (size_t a = 0; a < outcomes.size(); ++a) { EXPECT_NEAR(predictions[a], outcomes[a], 1e-6); }
  EXPECT_NEAR(std::accumulate(pmf.begin(), pmf.end(), 0.), 1., 1e-12);
  EXPECT(*std::min_element(pmf.begin(), pmf.end()) >= 0.);
  return pmf;
}

policy with(objective adapts_to, allocation_rule rule = allocation_rule::reweighted)
{
  policy made;
  made.adapts_to = adapts_to;
  made.rule = rule;
  return made;
}
}  // namespace

UNIT_TEST(before_the_first_event_all_actions_are_alike)
{
  for (const auto adapts_to : {objective::loss, objective::reward, objective::both})
  {
    for (const double p : pmf_of(with(adapts_to), {.1, .5, .9, .3}, after(0))) { EXPECT_NEAR(p, .25, 1e-12); }
  }
}

UNIT_TEST(a_lone_action_gets_all) { EXPECT_EQUAL(pmf_of(with(objective::loss), {.7}, after(100))[0], 1.); }

UNIT_TEST(losses_are_reweighted_by_the_paper_s_rule)
{
  // gamma = 10 * sqrt(25) = 50; p = y_b / (A y_b + gamma (y_a - y_b)).
  const auto pmf = pmf_of(with(objective::loss), {.2, .3, .6}, after(25));
  EXPECT_NEAR(pmf[1], .2 / (.6 + 50. * .1), 1e-7);
  EXPECT_NEAR(pmf[2], .2 / (.6 + 50. * .4), 1e-7);
  EXPECT_NEAR(pmf[0], 1. - pmf[1] - pmf[2], 1e-12);
}

UNIT_TEST(rewards_are_reweighted_by_the_best_reward)
{
  const auto pmf = pmf_of(with(objective::reward), {.2, .3, .6}, after(25));
  EXPECT_NEAR(pmf[0], .6 / (1.8 + 50. * .4), 1e-7);
  EXPECT_NEAR(pmf[1], .6 / (1.8 + 50. * .3), 1e-7);
  EXPECT(pmf[2] > .9);
}

UNIT_TEST(both_takes_the_smaller_of_loss_and_reward)
{
  const auto cheap = pmf_of(with(objective::both), {.1, .4}, after(25));
  EXPECT_NEAR(cheap[1], pmf_of(with(objective::loss), {.1, .4}, after(25))[1], 1e-9);
  const auto dear = pmf_of(with(objective::both), {.9, .95}, after(25));
  EXPECT_NEAR(dear[1], .1 / (.2 + 50. * .05), 1e-6);
}

UNIT_TEST(squarecb_s_rule_looks_at_gaps_alone)
{
  const auto losses = pmf_of(with(objective::loss, allocation_rule::igw), {.2, .3, .6}, after(25));
  EXPECT_NEAR(losses[1], 1. / (3. + 50. * .1), 1e-7);
  const auto rewards = pmf_of(with(objective::reward, allocation_rule::igw), {.8, .7, .4}, after(25));
  for (size_t a = 0; a < 3; ++a) { EXPECT_NEAR(rewards[a], losses[a], 1e-6); }
}

UNIT_TEST(better_is_less_cost_or_more_reward)
{
  EXPECT(with(objective::loss).better(-1.f, 1.f));
  EXPECT(with(objective::both).better(-1.f, 1.f));
  EXPECT(with(objective::reward).better(1.f, -1.f));
  EXPECT(!with(objective::loss).better(1.f, 1.f));
  EXPECT_EQUAL(with(objective::loss).to_outcome(.25f), .25f);
  EXPECT_EQUAL(with(objective::reward).to_outcome(.25f), .75f);
}

UNIT_TEST(gamma_is_a_power_of_the_events)
{
  policy own;
  for (const double exponent : {0., .25, .4, .5, 1.})
  {
    own.gamma_scale = 3.;
    own.gamma_exponent = exponent;
    EXPECT_NEAR(own.gamma(after(81), 5), 3. * std::pow(81., exponent), 1e-9);
  }
  EXPECT_EQUAL(own.gamma(after(0), 5), 0.);
}

UNIT_TEST(gamma_of_epochs_changes_where_the_loss_has_doubled)
{
  policy own;
  own.has_epochs = true;
  own.regret = .001;
  experience learned = after(1000);
  learned.loss = 5.;
  const double gamma = own.gamma(learned, 4);
  EXPECT_NEAR(gamma, std::sqrt(4. * 8. / (3. * .001)), 1e-9);
  learned.loss = 8.;
  EXPECT_EQUAL(own.gamma(learned, 4), gamma);
  learned.loss = 8.01;
  EXPECT_NEAR(own.gamma(learned, 4), gamma * std::sqrt(2.), 1e-9);
  own.regret = 1e9;
  EXPECT_EQUAL(own.gamma(learned, 4), 40.);  // never below 10 A
}

UNIT_TEST(without_a_bound_epochs_take_the_weights_and_the_events)
{
  policy own;
  own.has_epochs = true;
  experience learned = after(1000);
  learned.loss = 500.;
  learned.weights = .01;
  EXPECT_NEAR(own.gamma(learned, 2), std::sqrt(2. * 512. / (3. * .01 * std::log(1. + 1024.))), 1e-9);
}

UNIT_TEST(in_epochs_no_action_is_surer_than_the_events_allow)
{
  policy own;
  own.has_epochs = true;
  own.regret = 1e-6;
  const std::vector<float> logits{-40.f, 40.f};
  std::vector<double> predictions;
  std::vector<double> pmf;
  own.allocate(logits, after(8), predictions, pmf);
  EXPECT(predictions[0] < 1e-15);  // what it predicts stays what it is
  const double gamma = own.gamma(after(8), 2);
  EXPECT_NEAR(pmf[1], .1 / (.2 + gamma * .8), 1e-12);
  own.limits_certainty = false;
  own.allocate(logits, after(8), predictions, pmf);
  EXPECT(pmf[1] < 1e-15);
}

UNIT_TEST(every_action_gets_the_floor)
{
  policy own;
  own.epsilon = .2;
  own.gamma_scale = 1e6;
  const auto pmf = pmf_of(own, {.1, .5, .9, .3}, after(100));
  for (const double p : pmf) { EXPECT(p >= .05 - 1e-12); }
  EXPECT_NEAR(pmf[0], .85, 1e-4);
}

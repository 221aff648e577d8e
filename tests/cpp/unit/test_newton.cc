#include "array_of_features.h"
#include "oracle/explained_term.h"
#include "oracle/newton.h"
#include "unit_tests.h"

#include <random>

using unit_tests::array_of_features;
using vw_fastcb::newton;
using vw_fastcb::regressor;

namespace
{
constexpr uint64_t CONSTANT = 0;

// A row as VW would give it to a learner of fixed actions: numbered features, and a constant.
unit_tests::line_of_features row_of(const std::vector<float>& values)
{
  std::vector<unit_tests::feature> features;
  for (size_t i = 0; i < values.size(); ++i)
  {
    if (values[i] != 0.f) { features.push_back({(i + 1) * 8, values[i]}); }
  }
  return {{'x', features}, {128, {{CONSTANT, 1.f}}}};
}

struct learner
{
  explicit learner(size_t capacity = 64, double memory = 0.) : oracle([this] { return table(); }, capacity, memory) {}

  void show(const std::vector<float>& values, float weight = 1.f)
  {
    event.set_slots(2, row_of(values));
    event.set_weight(weight);
  }
  void learn(const std::vector<float>& values, size_t action, float outcome, float weight = 1.f)
  {
    show(values, weight);
    oracle.learn(event, action, outcome);
  }
  std::vector<float> logits(const std::vector<float>& values)
  {
    show(values);
    std::vector<float> found(2);
    oracle.score(event, found);
    return found;
  }

  unit_tests::table table;
  array_of_features event;
  newton oracle;
};

// Three features, the first of which decides the cost of action 0, and the second that of action 1.
void teach(learner& own, int events, uint32_t seed)
{
  std::mt19937 rng(seed);
  for (int i = 0; i < events; ++i)
  {
    std::vector<float> row(3);
    for (auto& value : row) { value = static_cast<float>(rng() % 1000) / 500.f - 1.f; }
    const size_t action = rng() % 2;
    const double chance = 1. / (1. + std::exp(-3. * row[action]));
    own.learn(row, action, rng() % 1000 < 1000. * chance ? 1.f : 0.f);
  }
}

const std::vector<size_t> CAPACITIES{64, 2, 1, 0};
const std::vector<std::vector<float>> ROWS{{.5f, -.5f, 0.f}, {0.f, 0.f, 0.f}, {-.9f, .8f, .7f}, {1.f, 1.f, 1.f}};
}  // namespace

UNIT_TEST(newton_knows_nothing_at_first)
{
  learner own;
  for (const auto& row : ROWS)
  {
    for (const float logit : own.logits(row)) { EXPECT_EQUAL(logit, 0.f); }
  }
}

UNIT_TEST(newton_finds_the_weights_that_made_the_log)
{
  for (const size_t capacity : CAPACITIES)
  {
    learner own(capacity);
    teach(own, 3000, 1);
    for (const auto& row : ROWS)
    {
      const auto found = own.logits(row);
      for (size_t action = 0; action < 2; ++action) { EXPECT_NEAR(found[action], 3. * row[action], .75); }
    }
  }
}

UNIT_TEST(newton_asked_twice_answers_alike)
{
  learner own(2);
  teach(own, 50, 2);
  for (const auto& row : ROWS)
  {
    const auto first = own.logits(row);
    EXPECT(own.logits(row) == first);
  }
}

UNIT_TEST(newton_weighs_an_event_of_weight_0_as_none_and_a_heavy_one_as_more)
{
  learner light;
  learner heavy;
  light.learn({1.f}, 0, 1.f, 1.f);
  heavy.learn({1.f}, 0, 1.f, 10.f);
  EXPECT(heavy.logits({1.f})[0] > light.logits({1.f})[0]);
  EXPECT(light.logits({1.f})[0] > 0.f);
  EXPECT_EQUAL(heavy.logits({1.f})[1], 0.f);  // the other action has learned nothing
}

UNIT_TEST(newton_goes_on_from_its_state_as_it_would_have)
{
  for (const size_t capacity : CAPACITIES)
  {
    learner whole(capacity);
    learner resumed(capacity);
    teach(whole, 60, 3);
    const auto state = whole.oracle.state();
    resumed.table.numbers() = whole.table.numbers();
    resumed.oracle.set_state(state);
    teach(whole, 60, 4);
    teach(resumed, 60, 4);
    for (const auto& row : ROWS) { EXPECT(whole.logits(row) == resumed.logits(row)); }
    EXPECT(whole.oracle.state().bytes == resumed.oracle.state().bytes);
    EXPECT(whole.table.numbers() == resumed.table.numbers());
    EXPECT_EQUAL(whole.oracle.weights(), resumed.oracle.weights());
  }
}

UNIT_TEST(newton_refuses_a_state_that_is_none)
{
  learner own;
  teach(own, 10, 1);
  auto bytes = own.oracle.state().bytes;
  bytes.pop_back();
  try
  {
    own.oracle.set_state({bytes, 0});
  }
  catch (const std::invalid_argument&)
  {
    return;
  }
  EXPECT(false);
}

UNIT_TEST(newton_s_explanation_adds_up_to_its_logits)
{
  for (const size_t capacity : CAPACITIES)
  {
    learner own(capacity);
    teach(own, 100, 5);
    for (const auto& row : ROWS)
    {
      std::vector<vw_fastcb::explained_term> terms;
      for (const auto& features : row_of(row))
      {
        for (size_t i = 0; i < features.values.size(); ++i)
        {
          terms.push_back({"x", features.indices[i] << 2, double{features.values[i]}, {}, {}});
        }
      }
      own.oracle.explain(terms, 2);
      const auto expected = own.logits(row);
      for (size_t slot = 0; slot < 2; ++slot)
      {
        double sum = 0.;
        for (const auto& term : terms) { sum += term.contributions[slot]; }
        EXPECT_NEAR(sum, expected[slot], 1e-6);
      }
    }
  }
}

UNIT_TEST(newton_shows_weights_in_the_table_and_takes_them_out_again)
{
  learner own;
  teach(own, 100, 6);
  const auto before = own.table.numbers();
  own.oracle.show_weights();
  EXPECT(own.table.numbers() != before);
  own.oracle.hide_weights();
  EXPECT(own.table.numbers() == before);
}

UNIT_TEST(merging_newtons_that_learned_alike_keeps_what_they_agree_on)
{
  for (const size_t capacity : CAPACITIES)
  {
    learner first(capacity);
    learner second(capacity);
    learner merged(capacity);
    teach(first, 400, 7);
    teach(second, 400, 7);
    merged.oracle.merge({&first.oracle, &second.oracle});
    for (const auto& row : ROWS)
    {
      for (size_t action = 0; action < 2; ++action)
      {
        EXPECT_NEAR(merged.logits(row)[action], first.logits(row)[action], .35);
      }
    }
  }
}

UNIT_TEST(newton_with_a_memory_forgets)
{
  learner forgets(64, 20.);
  learner keeps;
  for (auto* own : {&forgets, &keeps})
  {
    for (int i = 0; i < 200; ++i) { own->learn({1.f}, 0, 1.f); }
    for (int i = 0; i < 60; ++i) { own->learn({1.f}, 0, 0.f); }
  }
  EXPECT(forgets.logits({1.f})[0] < -1.f);
  EXPECT(keeps.logits({1.f})[0] > forgets.logits({1.f})[0] + 1.f);
}

UNIT_TEST(learning_all_outcomes_is_learning_each_of_one_event)
{
  learner together(64);
  together.show({1.f, .5f});
  together.oracle.learn_all(together.event, {1.f, 0.f});
  EXPECT(together.logits({1.f, .5f})[0] > 0.f);
  EXPECT(together.logits({1.f, .5f})[1] < 0.f);
  EXPECT_EQUAL(together.logits({1.f, .5f})[0], -together.logits({1.f, .5f})[1]);
}

UNIT_TEST(a_regressor_says_if_it_cannot_learn_all_outcomes)
{
  struct silent : regressor
  {
    void score(vw_fastcb::event&, std::vector<float>&) override {}
    double learn(vw_fastcb::event&, size_t, float) override { return 0.; }
    void explain(std::vector<vw_fastcb::explained_term>&, size_t) override {}
  } oracle;
  array_of_features event;
  event.set_slots(2, row_of({1.f}));
  try
  {
    oracle.learn_all(event, {0.f, 1.f});
  }
  catch (const std::invalid_argument&)
  {
    return;
  }
  EXPECT(false);
}

UNIT_TEST(actions_with_features_share_what_is_learned)
{
  unit_tests::table table;
  newton oracle([&table] { return table(); }, 64, 0.);
  array_of_features event;
  for (int i = 0; i < 200; ++i)
  {
    event.set_actions({row_of({1.f, 0.f}), row_of({0.f, 1.f})});
    oracle.learn(event, i % 2, i % 2 == 0 ? 1.f : 0.f);
  }
  event.set_actions({row_of({0.f, 1.f}), row_of({1.f, 0.f}), row_of({0.f, 1.f})});
  std::vector<float> logits(3);
  oracle.score(event, logits);
  EXPECT(logits[1] > 1.f);
  EXPECT(logits[0] < -1.f);
  EXPECT_EQUAL(logits[0], logits[2]);
}

#include "array_of_features.h"
#include "oracle/key_columns.h"
#include "oracle/slot_scorer.h"
#include "oracle/split_scorer.h"
#include "unit_tests.h"

#include <cfloat>
#include <random>
#include <unordered_map>

using unit_tests::array_of_features;
using unit_tests::features_of;
using unit_tests::line_of_features;

namespace
{
// What VW makes of a line, without any trick: features of the action and shared ones, then products of pairs.
std::vector<std::pair<uint64_t, float>> naive_features(
    const line_of_features& own, const line_of_features& shared, const vw_fastcb::interaction_list& pairs)
{
  std::vector<std::pair<uint64_t, float>> all;
  const auto each = [&](unsigned char name_space, auto work)
  {
    for (const auto* line : {&own, &shared})
    {
      for (const auto& features : *line)
      {
        if (features.name_space != name_space) { continue; }
        for (size_t i = 0; i < features.values.size(); ++i) { work(features.indices[i], features.values[i]); }
      }
    }
  };
  const auto add = [&](uint64_t index, float value) { all.emplace_back(index, value); };
  std::vector<unsigned char> order;
  for (const auto* line : {&own, &shared})
  {
    for (const auto& features : *line)
    {
      if (std::find(order.begin(), order.end(), features.name_space) == order.end())
      {
        order.push_back(features.name_space);
      }
    }
  }
  for (const auto name_space : order) { each(name_space, add); }
  for (const auto& pair : pairs)
  {
    each(pair[0], [&](uint64_t first, float value)
        { each(pair[1], [&](uint64_t second, float other) { add((first * 16777619) ^ second, value * other); }); });
  }
  return all;
}

line_of_features random_line(std::mt19937& rng, const std::string& name_spaces, uint64_t mask)
{
  line_of_features line;
  for (const char name_space : name_spaces)
  {
    std::vector<unit_tests::feature> features(rng() % 12);
    for (auto& feature : features)
    {
      feature = {(rng() & mask) << 2, static_cast<float>(static_cast<double>(rng() % 2001) / 1000. - 1.)};
    }
    line.emplace_back(static_cast<unsigned char>(name_space), features);
  }
  return line;
}

const vw_fastcb::interaction_list PAIRS{{'u', 'a'}, {'a', 'b'}, {'u', 'v'}};
}  // namespace

UNIT_TEST(features_of_a_line_are_those_that_vw_makes_in_its_order)
{
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round)
  {
    const auto own = random_line(rng, "abu", 0xff);
    const auto shared = random_line(rng, "uv", 0xff);
    array_of_features event(PAIRS);
    event.set_actions({own}, shared);
    const auto features = event.features(0);
    const auto expected = naive_features(own, shared, PAIRS);
    EXPECT_EQUAL(features.count, expected.size());
    for (size_t i = 0; i < features.count; ++i)
    {
      EXPECT_EQUAL(features.keys[i], expected[i].first);
      EXPECT_EQUAL(features.values[i], expected[i].second);
    }
  }
}

UNIT_TEST(products_that_overflow_are_bounded)
{
  array_of_features event({{'u', 'a'}});
  event.set_actions({{{'a', {{4, 1e30f}}}}}, {{'u', {{8, 1e30f}, {12, -1e30f}}}});
  const auto features = event.features(0);
  EXPECT_EQUAL(features.count, size_t{5});
  EXPECT_EQUAL(features.values[3], FLT_MAX);
  EXPECT_EQUAL(features.values[4], -FLT_MAX);
}

UNIT_TEST(the_same_features_have_the_same_version)
{
  const line_of_features shared{{'u', {{4, .5f}}}};
  const line_of_features first{{'a', {{8, 1.f}, {12, 2.f}}}};
  const line_of_features other_value{{'a', {{8, 1.f}, {12, 3.f}}}};
  const line_of_features other_key{{'a', {{8, 1.f}, {16, 3.f}}}};
  array_of_features event({{'u', 'a'}});
  event.set_actions({first}, shared);
  const auto before = event.features(0);
  event.set_actions({first}, shared);
  const auto same = event.features(0);
  EXPECT_EQUAL(same.version, before.version);
  event.set_actions({other_value}, shared);
  const auto changed = event.features(0);
  EXPECT(changed.version != before.version);
  EXPECT_EQUAL(changed.keys_version, before.keys_version);
  EXPECT_EQUAL(changed.values[1], 3.f);
  event.set_actions({other_key}, shared);
  EXPECT(event.features(0).keys_version != before.keys_version);
  event.set_actions({other_key}, {{'u', {{4, .25f}}}});
  EXPECT_EQUAL(event.features(0).values[3], .25f * 1.f);
}

UNIT_TEST(events_never_share_a_version)
{
  array_of_features first;
  array_of_features second;
  first.set_actions({{{'a', {{8, 1.f}}}}});
  second.set_actions({{{'a', {{8, 2.f}}}}});
  EXPECT(first.features(0).version != second.features(0).version);
}

UNIT_TEST(split_scores_are_sums_over_all_features)
{
  std::mt19937 rng(2);
  std::vector<float> weights(size_t{4} << 8);
  for (auto& weight : weights) { weight = static_cast<float>(rng() % 1000) / 1000.f; }
  const uint64_t mask = weights.size() - 1;
  vw_fastcb::split_scorer scorer;
  for (int round = 0; round < 200; ++round)
  {
    const auto own = random_line(rng, "abu", 0xff);
    const auto shared = random_line(rng, "uv", 0xff);
    array_of_features event(PAIRS);
    event.set_actions({own}, shared);
    scorer.start_event(weights.data(), mask, 0, event.interactions(), event.shared());
    size_t products = 0;
    const double score = scorer.score(event.own(0), .25f, products);
    double expected = .25;
    size_t singles = 0;
    for (const auto* line : {&own, &shared})
    {
      for (const auto& features : *line) { singles += features.values.size(); }
    }
    const auto all = naive_features(own, shared, PAIRS);
    for (const auto& [index, value] : all) { expected += double{value} * weights[index & mask]; }
    EXPECT_NEAR(score, expected, 1e-4);
    EXPECT_EQUAL(products, all.size() - singles);
  }
}

UNIT_TEST(slot_scores_are_sums_for_each_slot_also_around_the_end_of_the_table)
{
  std::mt19937 rng(3);
  for (const size_t apart : {1, 2, 4, 8})
  {
    for (const size_t slots : {1, 2, 7, 8, 33, 100})
    {
      std::vector<float> numbers(4096);
      for (auto& number : numbers) { number = static_cast<float>(rng() % 1000) / 1000.f; }
      std::vector<uint64_t> keys(9);
      std::vector<float> values(keys.size());
      for (size_t i = 0; i < keys.size(); ++i)
      {
        keys[i] = rng() % numbers.size();
        values[i] = static_cast<float>(rng() % 10) / 10.f;
      }
      const vw_fastcb::keyed_features features{keys.data(), values.data(), keys.size(), 0, 1, 1, true};
      std::vector<float> scores(slots);
      vw_fastcb::slot_scorer().score(features, {numbers.data(), numbers.size() - 1, 0, apart}, .5f, scores);
      for (size_t slot = 0; slot < slots; ++slot)
      {
        float expected = .5f;  // in the order of the features, as gd adds them
        for (size_t i = 0; i < keys.size(); ++i)
        {
          expected += values[i] * numbers[(keys[i] + slot * apart) % numbers.size()];
        }
        EXPECT_NEAR(scores[slot], expected, 1e-5);
      }
    }
  }
}

UNIT_TEST(key_columns_is_a_map)
{
  std::mt19937_64 rng(4);
  vw_fastcb::key_columns columns;
  std::unordered_map<uint64_t, size_t> expected;
  for (size_t i = 0; i < 2000; ++i)
  {
    const uint64_t key = i % 2 == 0 ? rng() : i;
    EXPECT_EQUAL(columns.find(key), vw_fastcb::key_columns::NOT_HERE);
    columns.insert(key, i);
    expected[key] = i;
  }
  for (const auto& [key, column] : expected) { EXPECT_EQUAL(columns.find(key), column); }
  EXPECT_EQUAL(columns.size(), expected.size());
  columns.clear();
  EXPECT_EQUAL(columns.find(1), vw_fastcb::key_columns::NOT_HERE);
}

// An event that is not VW's: features given as lists, for regressors alone.
#pragma once

#include "oracle/event.h"
#include "oracle/table_weights.h"

#include <stdexcept>
#include <utility>
#include <vector>

namespace unit_tests
{
struct feature
{
  uint64_t index;
  float value;
};

// The features of one namespace.
struct features_of
{
  unsigned char name_space;
  std::vector<uint64_t> indices;
  std::vector<float> values;

  features_of(unsigned char name_space, const std::vector<feature>& features) : name_space(name_space)
  {
    for (const auto& feature : features)
    {
      indices.push_back(feature.index);
      values.push_back(feature.value);
    }
  }
  vw_fastcb::feature_span span() const { return {values.data(), indices.data(), values.size(), name_space}; }
};

using line_of_features = std::vector<features_of>;

class array_of_features : public vw_fastcb::event
{
public:
  explicit array_of_features(vw_fastcb::interaction_list pairs = {}) : _pairs(std::move(pairs)) {}

  // One line, and a slot for each action.
  void set_slots(size_t slots, line_of_features line) { set({std::move(line)}, {}, slots, true); }

  // A line for each action.
  void set_actions(std::vector<line_of_features> lines, line_of_features shared = {})
  {
    const size_t count = lines.size();
    set(std::move(lines), std::move(shared), count, false);
  }

  void set_weight(float weight) { _weight = weight; }

  const vw_fastcb::feature_spans& own(size_t line) override
  {
    _own.clear();
    for (const auto& features : _lines.at(line)) { _own.push_back(features.span()); }
    return _own;
  }
  float weight(size_t) const override { return _weight; }
  float initial(size_t) const override { return 0.f; }

private:
  void set(std::vector<line_of_features> lines, line_of_features shared, size_t actions, bool has_slots)
  {
    _lines = std::move(lines);
    _shared_line = std::move(shared);
    start(actions, has_slots);
    _interactions = &_pairs;
    _shared.clear();
    for (const auto& features : _shared_line) { _shared.push_back(features.span()); }
  }

  // Only VW's own learners ask for these.
  VW::example& lend(size_t) override { throw std::logic_error("there is no VW here"); }
  void take_back(size_t) override {}
  void read_as_vw_does(size_t, feature_list&) override { throw std::logic_error("there is no VW here"); }

  vw_fastcb::interaction_list _pairs;
  std::vector<line_of_features> _lines;
  line_of_features _shared_line;
  vw_fastcb::feature_spans _own;
  float _weight = 1.f;
};

// Weights as VW's table has them: four numbers each.
class table
{
public:
  explicit table(size_t bits = 8) : _numbers(size_t{4} << bits) {}

  vw_fastcb::weight_table operator()()
  {
    vw_fastcb::weight_table own;
    own.numbers = _numbers.data();
    own.mask = _numbers.size() - 1;
    own.shift = 2;
    own.slots_apart = 4;
    own.constant_key = 0;
    return own;
  }
  const std::vector<float>& numbers() const { return _numbers; }
  std::vector<float>& numbers() { return _numbers; }

private:
  std::vector<float> _numbers;
};
}  // namespace unit_tests

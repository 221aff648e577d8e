// A VW example that remembers the features it was made of. Users hand in the same context to decide and to learn: what
// is equal is compared, which is cheap, and not set up again.
#pragma once

#include "feature_rows.h"

#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/vw.h"

#include <cfloat>
#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
class filled_example
{
public:
  filled_example(VW::workspace& all, char name_space)
      : _all(&all)
      , _name_space(static_cast<VW::namespace_index>(name_space))
  {
    ec.interactions = &all.feature_tweaks_config.interactions;
    ec.extent_interactions = &all.feature_tweaks_config.extent_interactions;
  }

  VW::example ec;

  // Makes the example of a row, without a cost.
  void fill(const feature_rows& features, size_t row, float weight, bool shared = false)
  {
    const bool same = remember(features, row);
    ec.l.cb.reset_to_default();
    ec.l.cb.weight = weight;
    if (shared) { ec.l.cb.costs.emplace_back(FLT_MAX, 0, -1.f); }  // the mark that VW's parsers set
    if (same && _complete) { start_over(weight); }
    else { set_up(); }
  }

  // Gives the features names, for VW to tell what a product is made of: the namespace and the place in it, such as x17.
  void name_features()
  {
    auto& names = ec.feature_space[_name_space].space_names;
    names.clear();
    for (const auto index : _indices)
    {
      names.emplace_back("", static_cast<char>(_name_space) + std::to_string(index));
    }
  }

  // The next fill sets up anew: for stacks that may leave an example changed, and after an error.
  void forget() { _complete = false; }

private:
  // Notes the features of a row; returns whether they are those of the last one.
  bool remember(const feature_rows& features, size_t row)
  {
    size_t count = 0;
    bool same = true;
    features.for_each(row,
        [&](uint64_t index, float value)
        {
          if (count == _indices.size())
          {
            _indices.push_back(index);
            _values.push_back(value);
            same = false;
          }
          else if (_indices[count] != index || _values[count] != value)
          {
            _indices[count] = index;
            _values[count] = value;
            same = false;
          }
          ++count;
        });
    same = same && count == _indices.size();
    _indices.resize(count);
    _values.resize(count);
    return same;
  }

  void set_up()
  {
    _complete = false;
    VW::empty_example(*_all, ec);
    auto& space = ec.feature_space[_name_space];
    for (size_t i = 0; i < _indices.size(); ++i) { space.push_back(_values[i], _indices[i]); }
    if (!space.empty()) { ec.indices.push_back(_name_space); }
    VW::setup_example(*_all, &ec);
    _complete = true;
  }

  // What setup_example sets besides the features.
  void start_over(float weight)
  {
    ec.weight = weight;
    ec.partial_prediction = 0.f;
    ec.loss = 0.f;
    ec.num_features_from_interactions = 0;
    ec.reset_total_sum_feat_sq();
  }

  VW::workspace* _all;
  VW::namespace_index _name_space;
  bool _complete = false;
  std::vector<uint64_t> _indices;
  std::vector<float> _values;
};
}  // namespace vw_fastcb

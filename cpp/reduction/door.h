// What the two front doors of FastCB have in common for VW's learner builder. Each has an `explorer` in its data.
#pragma once

#include "explorer.h"

#include <vector>

namespace vw_fastcb
{
// `explorer_of` finds the explorer in the data of a door's learner.
template <typename Data, explorer& (*explorer_of)(Data&)>
struct door
{
  static explorer& in(const Data& data) { return explorer_of(const_cast<Data&>(data)); }

  static void save_load(Data& data, VW::io_buf& io, bool read, bool text) { in(data).save_load(io, read, text); }
  static void merge(const std::vector<float>&, const std::vector<const Data*>& models, Data& merged)
  {
    std::vector<const explorer*> explorers;
    for (const auto* model : models) { explorers.push_back(&in(*model)); }
    in(merged).merge(explorers);
  }
  static void add(const Data& base, const Data& difference, Data& sum) { in(sum).become_sum(in(base), in(difference)); }
  static void subtract(const Data& model, const Data& base, Data& difference)
  {
    in(difference).become_difference(in(model), in(base));
  }
};
}  // namespace vw_fastcb

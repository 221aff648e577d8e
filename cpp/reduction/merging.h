// Model merging, the same for both front doors: the numbers of learned events add up.
#pragma once

#include "oracle.h"

#include "vw/common/vw_exception.h"

#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// `oracle_of` finds the oracle in the data of a front door's learner.
template <typename Data, oracle& (*oracle_of)(Data&)>
struct merging
{
  static uint64_t events(const Data& data) { return oracle_of(const_cast<Data&>(data)).events(); }

  static void merge(const std::vector<float>&, const std::vector<const Data*>& models, Data& merged)
  {
    uint64_t sum = 0;
    for (const auto* model : models) { sum += events(*model); }
    oracle_of(merged).set_events(sum);
  }
  static void add(const Data& base, const Data& delta, Data& sum)
  {
    oracle_of(sum).set_events(events(base) + events(delta));
  }
  static void subtract(const Data& model, const Data& base, Data& delta)
  {
    if (events(model) < events(base))
    {
      THROW("the base model has learned " << events(base) << " events, and a model built on it only " << events(model)
                                          << ". Give the base model that the others started from.");
    }
    oracle_of(delta).set_events(events(model) - events(base));
  }
};
}  // namespace vw_fastcb

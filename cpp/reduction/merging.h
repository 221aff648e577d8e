// Model merging, the same for both front doors: the numbers of learned events and their losses add up, the second-order
// oracle puts together what was learned, and the note is that of the first model (merging asks for models that were
// made alike).
#pragma once

#include "oracle.h"

#include "vw/common/vw_exception.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// `oracle_of` finds the oracle in the data of a front door's learner.
template <typename Data, oracle& (*oracle_of)(Data&)>
struct merging
{
  static const oracle& of(const Data& data) { return oracle_of(const_cast<Data&>(data)); }
  static uint64_t events(const Data& data) { return of(data).events(); }

  // The oldest there is.
  static void keep_arithmetic(const Data& from, Data& to)
  {
    oracle_of(to).set_arithmetic(std::min(of(from).arithmetic(), of(to).arithmetic()));
  }

  static void merge(const std::vector<float>&, const std::vector<const Data*>& models, Data& merged)
  {
    uint64_t sum = 0;
    double losses = 0.;
    std::vector<const oracle*> oracles;
    for (const auto* model : models)
    {
      keep_arithmetic(*model, merged);
      oracles.push_back(&of(*model));
      sum += events(*model);
      losses += of(*model).loss();
    }
    oracle_of(merged).merge_clocks(oracles);
    oracle_of(merged).set_events(sum);
    oracle_of(merged).set_loss(losses);
    if (!models.empty()) { oracle_of(merged).set_note(of(*models[0]).note()); }
    if (auto* newton = oracle_of(merged).newton())
    {
      std::vector<const newton_regressor*> known;
      for (const auto* model : models) { known.push_back(of(*model).newton()); }
      newton->merge(known, of(merged).weights_apart());
    }
  }
  static void add(const Data& base, const Data& delta, Data& sum)
  {
    keep_arithmetic(base, sum);
    keep_arithmetic(delta, sum);
    if (auto* newton = oracle_of(sum).newton()) { newton->add(*of(base).newton(), *of(delta).newton()); }
    oracle_of(sum).add_clocks(of(base), of(delta));
    oracle_of(sum).set_events(events(base) + events(delta));
    oracle_of(sum).set_loss(of(base).loss() + of(delta).loss());
    oracle_of(sum).set_note(of(base).note().empty() ? of(delta).note() : of(base).note());
  }
  static void subtract(const Data& model, const Data& base, Data& delta)
  {
    if (events(model) < events(base))
    {
      THROW("the base model has learned " << events(base) << " events, and a model built on it only " << events(model)
                                          << ". Give the base model that the others started from.");
    }
    keep_arithmetic(model, delta);
    keep_arithmetic(base, delta);
    if (auto* newton = oracle_of(delta).newton()) { newton->subtract(*of(model).newton(), *of(base).newton()); }
    oracle_of(delta).become_difference(of(model), of(base));
    oracle_of(delta).set_events(events(model) - events(base));
    oracle_of(delta).set_loss(of(model).loss() - of(base).loss());
    oracle_of(delta).set_note(of(model).note());
  }
};
}  // namespace vw_fastcb

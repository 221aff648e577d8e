// The example of CONTRIBUTING.md, "Adding an oracle": what each action costs on average, whatever the context says.
#include "oracle/explained_term.h"
#include "oracle/registry.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vw_fastcb
{
namespace
{
class running_mean : public regressor
{
public:
  void score(event& of, std::vector<float>& logits) override
  {
    for (size_t action = 0; action < logits.size(); ++action) { logits[action] = logit(slot_of(of, action)); }
  }

  double learn(event& of, size_t action, float outcome) override
  {
    const size_t slot = slot_of(of, action);
    const float predicted = logit(slot);
    const double weight = of.weight(of.has_slots() ? 0 : action);
    auto& sums = at(slot);
    sums.weight += weight;
    sums.outcomes += weight * double{outcome};
    return double{predicted};
  }

  // No feature adds anything: all of it is the constant's, which has no name.
  void explain(std::vector<explained_term>& terms, size_t slots) override
  {
    const auto is_constant = [](const explained_term& term) { return term.name.empty(); };
    if (std::none_of(terms.begin(), terms.end(), is_constant)) { terms.push_back({"", 0, 0., {}, {}}); }
    for (auto& term : terms)
    {
      for (size_t slot = 0; slot < slots; ++slot)
      {
        const double part = is_constant(term) ? double{logit(slot)} : 0.;
        term.weights.push_back(part);
        term.contributions.push_back(part);
      }
    }
  }

  regressor_state state() override
  {
    return {std::string(reinterpret_cast<const char*>(_sums.data()), _sums.size() * sizeof(sums_of_slot)), 0};
  }
  void set_state(const regressor_state& state) override
  {
    _sums.resize(state.bytes.size() / sizeof(sums_of_slot));
    std::memcpy(_sums.data(), state.bytes.data(), _sums.size() * sizeof(sums_of_slot));
  }
  void continue_from(const regressor& other) override { _sums = sums_in(other); }

  // Sums add up.
  bool merges_table() const override { return true; }
  void merge(const std::vector<const regressor*>& models) override
  {
    for (const auto* model : models) { add(*model, 1.); }
  }
  void become_difference(const regressor& model, const regressor& base) override
  {
    add(model, 1.);
    add(base, -1.);
  }
  void become_sum(const regressor& base, const regressor& difference) override
  {
    add(base, 1.);
    add(difference, 1.);
  }

private:
  struct sums_of_slot
  {
    double weight = 0.;
    double outcomes = 0.;
  };

  // Fixed actions have a slot each. Those that have features share one.
  static size_t slot_of(const event& of, size_t action) { return of.has_slots() ? action : 0; }
  static const std::vector<sums_of_slot>& sums_in(const regressor& other)
  {
    return static_cast<const running_mean&>(other)._sums;
  }

  sums_of_slot& at(size_t slot)
  {
    if (slot >= _sums.size()) { _sums.resize(slot + 1); }
    return _sums[slot];
  }
  float logit(size_t slot) const
  {
    const auto sums = slot < _sums.size() ? _sums[slot] : sums_of_slot{};
    return static_cast<float>(std::log((sums.outcomes + .5) / (sums.weight - sums.outcomes + .5)));
  }
  void add(const regressor& other, double sign)
  {
    for (size_t slot = 0; slot < sums_in(other).size(); ++slot)
    {
      at(slot).weight += sign * sums_in(other)[slot].weight;
      at(slot).outcomes += sign * sums_in(other)[slot].outcomes;
    }
  }

  std::vector<sums_of_slot> _sums = std::vector<sums_of_slot>(1);  // never empty: a model has them where it has bytes
};

std::unique_ptr<regressor> make(const oracle_request&) { return std::make_unique<running_mean>(); }

[[maybe_unused]] const bool IS_REGISTERED = add_oracle({"running_mean", make});
}  // namespace
}  // namespace vw_fastcb

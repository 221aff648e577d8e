// FastCB's flags on VW's command line, and the values that are refused.
#pragma once

#include "allocation/policy.h"
#include "oracle/registry.h"

#include "vw/config/option_group_definition.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace vw_fastcb
{
struct fastcb_options
{
  bool fastcb = false;
  bool adf = false;          // --cb_explore_adf: actions with their own features
  uint32_t num_actions = 0;  // --cb_explore K: fixed actions
  double min_cost() const { return _min_cost; }
  double max_cost() const { return _max_cost; }
  vw_fastcb::policy policy() const;
  const oracle_kind& oracle() const { return oracle_named(_oracle); }
  size_t capacity() const { return static_cast<size_t>(_capacity); }
  double memory() const { return _memory; }
  const std::string& members() const { return _members; }

  // The flags, declared as VW expects. The two front doors share all but their own flag.
  VW::config::option_group_definition adf_group();
  VW::config::option_group_definition fixed_group();

  // Throws a sentence that says why if the values make no sense. Call it before the base learner is set up, while the
  // workspace is still untouched.
  void check(VW::config::options_i& options) const;

  // Gamma for the oracle that was asked for, where none was given. The model keeps it.
  void choose_gamma(VW::config::options_i& options);

  // VW writes only the flags that were given into a model. Those that define what the weights mean must be there even
  // with default values, so that VW refuses other values for a loaded model.
  void keep_meaning_of_weights(VW::config::options_i& options) const;

private:
  void add_shared_flags(VW::config::option_group_definition& group);
  void check_values(const VW::config::options_i& options) const;
  bool has_epochs() const { return _gamma == "epochs"; }

  float _gamma_scale = 10.f;
  float _gamma_exponent = 0.5f;
  float _min_cost = 0.f;
  float _max_cost = 1.f;
  float _epsilon = 0.f;
  std::string _objective;
  std::string _allocation;
  std::string _gamma;
  float _regret = 0.f;
  std::string _oracle;
  int64_t _capacity = 0;
  float _memory = 0.f;
  float _optimism = 0.f;
  std::string _members;
  std::string _bad_events;
  std::string _cb_type;
};
}  // namespace vw_fastcb

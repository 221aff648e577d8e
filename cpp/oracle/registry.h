// The oracles by name: the one place that knows all of them.
#pragma once

#include "regressor.h"

#include "vw/core/learner_fwd.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
// What an oracle is made from.
struct oracle_request
{
  VW::workspace& all;
  VW::LEARNER::learner& below;  // VW's own learner, under its scorer
  size_t capacity;              // --fastcb_capacity
  double memory;                // --fastcb_memory
  std::string members = {};     // --fastcb_members
};

struct oracle_kind
{
  const char* name;  // as in --fastcb_oracle
  std::unique_ptr<regressor> (*make)(const oracle_request&);

  // What gamma is, where none is given: by evidence.
  float gamma_scale = 10.f;
  float gamma_exponent = .5f;

  bool replaces_gd =
      true;  // it stands where VW's gd would: gd's flags make no sense, and other learners cannot be there
  bool has_capacity = false;    // it takes --fastcb_capacity and --fastcb_memory
  bool knows_weights = false;   // their number, which --fastcb_gamma epochs needs for an estimate
  bool has_deviations = false;  // it takes --fastcb_optimism
  bool has_members = false;     // it takes --fastcb_members
  bool can_merge = true;
};

const std::vector<oracle_kind>& oracle_kinds();

// The kind with a name, which must be one of them.
const oracle_kind& oracle_named(const std::string& name);

// For oracles outside this package, before any learner is made. True, so that a static variable can call it.
bool add_oracle(const oracle_kind& kind);
}  // namespace vw_fastcb

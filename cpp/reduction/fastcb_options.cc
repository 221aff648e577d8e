#include "fastcb_options.h"

#include "strict/flags.h"

#include "vw/common/vw_exception.h"
#include "vw/config/options.h"

#include "fmt/format.h"

#include <cmath>
#include <set>

using VW::config::make_option;
using VW::config::option_group_definition;
using VW::config::options_i;

namespace vw_fastcb
{
namespace
{
constexpr int64_t MOST_CAPACITY = 4096;  // 128 MB for each action

std::set<std::string> oracle_names()
{
  std::set<std::string> names;
  for (const auto& kind : oracle_kinds()) { names.insert(kind.name); }
  return names;
}

template <typename T>
bool supplied_as(options_i& options, const char* name, const T& value)
{
  return !options.was_supplied(name) || options.get_typed_option<T>(name).value() == value;
}
}  // namespace

// Long because it declares the flags, one after another.
void fastcb_options::add_shared_flags(option_group_definition& group)
{
  group
      .add(make_option("fastcb", fastcb)
              .keep()
              .necessary()
              .help("FastCB exploration: regression under log loss, reweighted inverse gap weighting"))
      .add(make_option("gamma_scale", _gamma_scale)
              .keep()
              .default_value(10.f)
              .help("Scale of FastCB's greediness, gamma = gamma_scale * [events learned]^gamma_exponent; with "
                    "--fastcb_oracle newton 50 unless given"))
      .add(make_option("gamma_exponent", _gamma_exponent)
              .keep()
              .default_value(.5f)
              .help("Exponent of FastCB's greediness; 0 keeps gamma constant; with --fastcb_oracle newton .4 unless "
                    "given"))
      .add(make_option("cb_min_cost", _min_cost).keep().default_value(0.f).help("Lowest possible cost"))
      .add(make_option("cb_max_cost", _max_cost).keep().default_value(1.f).help("Highest possible cost"))
      .add(make_option("fastcb_objective", _objective)
              .keep()
              .default_value("loss")
              .one_of({"loss", "reward", "both"})
              .help(
                  "Adapt to small losses (the best action costs little), to small rewards (even the best action earns "
                  "little), or in every event to whichever is smaller"))
      .add(make_option("fastcb_allocation", _allocation)
              .keep()
              .allow_override()
              .default_value("reweighted")
              .one_of({"reweighted", "igw"})
              .help("How predictions become probabilities: FastCB's reweighted rule, or SquareCB's rule on the same "
                    "log-loss "
                    "regressor"))
      .add(make_option("fastcb_gamma", _gamma)
              .keep()
              .default_value("power")
              .one_of({"power", "epochs"})
              .help("Schedule of gamma: a power of the number of events learned, or the theory's choice in epochs that "
                    "end when the learner's own loss has doubled"))
      .add(make_option("fastcb_regret", _regret)
              .keep()
              .allow_override()
              .default_value(0.f)
              .help("With --fastcb_gamma epochs: a bound on the regressor's regret under log loss; 0 takes [number of "
                    "weights] * log [events learned], of --fastcb_oracle newton"))
      .add(make_option("fastcb_oracle", _oracle)
              .keep()
              .default_value("gd")
              .one_of(oracle_names())
              .help("Who predicts costs: VW's own gradient descent, or a second-order learner that needs no step size, "
                    "scales features itself, and learns faster"))
      .add(make_option("fastcb_capacity", _capacity)
              .keep()
              .default_value(64)
              .help("With --fastcb_oracle newton: the first features, as many as this, have a full covariance, "
                    "8 * capacity^2 bytes for each of the fixed actions; the others have a variance each"))
      .add(make_option("fastcb_memory", _memory)
              .keep()
              .allow_override()
              .default_value(0.f)
              .help("With --fastcb_oracle newton: after so many events one counts about a third of a new one, for "
                    "costs that drift; 0 forgets nothing"))
      .add(make_option("fastcb_optimism", _optimism)
              .keep()
              .allow_override()
              .default_value(0.f)
              .help("With --fastcb_oracle newton or ensemble: probabilities are allocated from costs that lie so many "
                    "deviations below what is predicted; 0 is the paper's rule"))
      .add(make_option("fastcb_members", _members)
              .keep()
              .default_value("linear,curved,main,common,gd")
              .help("With --fastcb_oracle ensemble: its members, to measure what each is worth"))
      .add(make_option("fastcb_bad_events", _bad_events)
              .keep()
              .allow_override()
              .default_value("stop")
              .one_of({"stop", "skip"})
              .help("On a bad event in the input: stop with an error, or skip it and report the skipped lines at the "
                    "end"))
      .add(make_option("cb_type", _cb_type)
              .keep()
              .default_value("mtr")
              .help("FastCB is a regression on the chosen action; mtr is the only type it supports"))
      .add(make_option("epsilon", _epsilon)
              .keep()
              .allow_override()
              .default_value(0.f)
              .help("Every action gets at least the probability epsilon / [number of actions]"));
}

option_group_definition fastcb_options::adf_group()
{
  option_group_definition group("[Reduction] Contextual Bandit Exploration with ADF (FastCB)");
  group.add(make_option("cb_explore_adf", adf)
          .keep()
          .necessary()
          .help("Explore and exploit among actions with their own features, any number per event"));
  add_shared_flags(group);
  return group;
}

option_group_definition fastcb_options::fixed_group()
{
  option_group_definition group("[Reduction] Contextual Bandit Exploration (FastCB)");
  group.add(make_option("cb_explore", num_actions)
          .keep()
          .necessary()
          .help("Explore and exploit among <k> fixed actions, one context line per event"));
  add_shared_flags(group);
  return group;
}

policy fastcb_options::policy() const
{
  vw_fastcb::policy made;
  made.adapts_to = _objective == "reward" ? objective::reward
                   : _objective == "both" ? objective::both
                                          : objective::loss;
  made.rule = _allocation == "igw" ? allocation_rule::igw : allocation_rule::reweighted;
  made.has_epochs = has_epochs();
  made.gamma_scale = _gamma_scale;
  made.gamma_exponent = _gamma_exponent;
  made.regret = _regret;
  made.epsilon = _epsilon;
  made.optimism = _optimism;
  return made;
}

void fastcb_options::choose_gamma(options_i& options)
{
  if (has_epochs()) { return; }
  const auto choose = [&options](const char* flag, float& value, float by_evidence)
  {
    if (options.was_supplied(flag) || value == by_evidence) { return; }
    value = by_evidence;
    options.insert(flag, fmt::format("{}", value));
  };
  choose("gamma_scale", _gamma_scale, oracle().gamma_scale);
  choose("gamma_exponent", _gamma_exponent, oracle().gamma_exponent);
}

void fastcb_options::keep_meaning_of_weights(options_i& options) const
{
  const std::pair<const char*, std::string> meaning[] = {{"fastcb_objective", _objective},
      {"cb_min_cost", fmt::format("{}", _min_cost)}, {"cb_max_cost", fmt::format("{}", _max_cost)}};
  for (const auto& flag : meaning)
  {
    if (!options.was_supplied(flag.first)) { options.insert(flag.first, flag.second); }
  }
  if (oracle().has_members && !options.was_supplied("fastcb_members")) { options.insert("fastcb_members", _members); }
  if (oracle().has_capacity && !options.was_supplied("fastcb_capacity"))
  {
    options.insert("fastcb_capacity", std::to_string(_capacity));
  }
}

void fastcb_options::check(options_i& options) const
{
  require(_cb_type == "mtr",
      "--fastcb cannot be combined with --cb_type " + _cb_type +
          ": FastCB's update is an unweighted regression on the chosen action. Leave --cb_type out.");
  require(supplied_as<std::string>(options, "loss_function", "logistic"),
      "--fastcb learns with log loss (--loss_function logistic on the range of costs) and sets it itself. Leave "
      "--loss_function out.");
  require(supplied_as(options, "logistic_min", 0.f) && supplied_as(options, "logistic_max", 1.f),
      "--fastcb maps the range of costs to [0,1] itself. Leave --logistic_min and --logistic_max out and use "
      "--cb_min_cost and --cb_max_cost.");
  check_values(options);
}

void fastcb_options::check_values(const options_i& options) const
{
  const auto number = [](float value) { return fmt::format("{}", value); };
  for (const char* flag : {"fastcb_capacity", "fastcb_memory"})
  {
    require(oracle().has_capacity || !options.was_supplied(flag),
        std::string("--") + flag + " is a flag of --fastcb_oracle newton. Give both, or neither.");
  }
  for (const char* flag : {"gamma_scale", "gamma_exponent"})
  {
    require(!has_epochs() || !options.was_supplied(flag),
        options.was_supplied("initial_regressor")
            ? std::string("--fastcb_gamma epochs and --") + flag +
                  " exclude each other, and the model that -i names keeps one of them: its schedule of gamma cannot be "
                  "changed. Leave the other one out."
            : std::string("--") + flag +
                  " is a flag of --fastcb_gamma power. Leave it out; --fastcb_regret is what to set.");
  }
  require(oracle().has_deviations || _optimism == 0.f,
      "--fastcb_optimism needs an oracle that knows how sure it is, and --fastcb_oracle " + _oracle +
          " does not. Leave it out, or add --fastcb_oracle ensemble or newton.");
  require(oracle().has_members || !options.was_supplied("fastcb_members"),
      "--fastcb_members is a flag of --fastcb_oracle ensemble. Give both, or neither.");
  require(std::isfinite(_optimism) && _optimism >= 0.f,
      "--fastcb_optimism is " + number(_optimism) + "; it must be a finite number, 0 or larger.");
  require(!has_epochs() || _objective != "both",
      "--fastcb_gamma epochs follows the learner's loss or its reward, not both. Give --fastcb_objective loss or "
      "reward, "
      "or leave --fastcb_gamma out.");
  require(has_epochs() || !options.was_supplied("fastcb_regret"),
      "--fastcb_regret is a flag of --fastcb_gamma epochs. Give both, or neither.");
  require(std::isfinite(_regret) && _regret >= 0.f,
      "--fastcb_regret is " + number(_regret) + "; it must be a finite number above 0, or 0 for an estimate.");
  require(!has_epochs() || oracle().knows_weights || _regret > 0.f,
      "--fastcb_gamma epochs needs a bound on the regressor's regret, and none is known for VW's own. Add "
      "--fastcb_regret with yours, or --fastcb_oracle newton.");
  require(_capacity >= 0 && _capacity <= MOST_CAPACITY, "--fastcb_capacity is " + std::to_string(_capacity) +
                                                            "; it must be a whole number from 0 to " +
                                                            std::to_string(MOST_CAPACITY) + ".");
  require(std::isfinite(_memory) && (_memory == 0.f || _memory >= 1.f),
      "--fastcb_memory is " + number(_memory) +
          "; it must be a finite number of events, 1 or more, or 0 to forget "
          "nothing.");
  require(std::isfinite(_gamma_scale) && _gamma_scale >= 0.f,
      "--gamma_scale is " + number(_gamma_scale) + "; it must be a finite number, 0 or larger.");
  require(std::isfinite(_gamma_exponent) && _gamma_exponent >= 0.f,
      "--gamma_exponent is " + number(_gamma_exponent) + "; it must be a finite number, 0 or larger.");
  require(_epsilon >= 0.f && _epsilon <= 1.f, "--epsilon is " + number(_epsilon) + "; it must be in [0,1].");
  require(std::isfinite(_min_cost) && std::isfinite(_max_cost) && _min_cost < _max_cost,
      "--cb_min_cost is " + number(_min_cost) + " and --cb_max_cost is " + number(_max_cost) +
          "; both must be finite, the first below the second.");
  if (!options.was_supplied("cb_explore")) { return; }
  require(num_actions >= 1, "--cb_explore is " + std::to_string(num_actions) + "; there must be at least one action.");
  if (!options.was_supplied("cbify")) { return; }
  const auto classes = options.get_typed_option<uint32_t>("cbify").value();
  require(classes == num_actions, "--cbify makes " + std::to_string(classes) + " actions and --cb_explore expects " +
                                      std::to_string(num_actions) +
                                      ". Give the same number, or leave --cb_explore out.");
}

}  // namespace vw_fastcb

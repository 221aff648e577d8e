#include "flags.h"

#include "vw/common/vw_throw.h"
#include "vw/config/options.h"

#include <algorithm>
#include <string>
#include <vector>

using VW::config::option_group_definition;
using VW::config::options_i;

namespace vw_fastcb
{
namespace
{
struct refusal
{
  const char* flag;
  const char* reason;
};

// Flags that VW would accept with --fastcb and then ignore, or that would put something between FastCB and its oracle.
constexpr refusal REFUSALS[] = {
    {"first", "it is another exploration algorithm; choose one of the two"},
    {"bag", "it is another exploration algorithm; choose one of the two"},
    {"cover", "it is another exploration algorithm; choose one of the two"},
    {"regcb", "it is another exploration algorithm; choose one of the two"},
    {"regcbopt", "it is another exploration algorithm; choose one of the two"},
    {"squarecb",
        "it is another exploration algorithm; choose one of the two (SquareCB's rule on FastCB's oracle is "
        "--fastcb_allocation igw)"},
    {"rnd", "it is another exploration algorithm; choose one of the two"},
    {"softmax", "it is another exploration algorithm; choose one of the two"},
    {"synthcover", "it is another exploration algorithm; choose one of the two"},
    {"graph_feedback", "it is another exploration algorithm; choose one of the two"},
    {"first_only", "only epsilon-greedy reads it"},
    {"nounif", "only --cover reads it"},
    {"psi", "only --cover reads it"},
    {"elim", "only SquareCB reads it"},
    {"mellowness", "only RegCB and SquareCB read it"},
    {"epsilon_decay", "only epsilon-greedy reads it"},
    {"large_action_space", "it approximates the actions of a squared-loss explorer"},
    {"aml", "it tunes epsilon-greedy explorers only"},
    {"automl", "it tunes epsilon-greedy explorers only"},
    {"baseline_challenger_cb", "it compares policies of an importance-weighted learner, which FastCB does not have"},
    {"experimental_igl", "interaction-grounded learning has its own reward model"},
    {"cb_dro", "it reweights events; FastCB's update is unweighted"},
    {"cb_actions_mask", "it hides actions from a pmf that covers all of them"},
    {"warm_cb", "it drives a cost-sensitive learner, which FastCB does not have"},
    {"warm_cb_cs", "it drives a cost-sensitive learner, which FastCB does not have"},
    {"ksvm", "it replaces the log loss that FastCB predicts with"},
    {"bfgs", "it learns in batches; a bandit learns online"},
    {"conjugate_gradient", "it learns in batches; a bandit learns online"},
    {"svrg", "it learns in stages over a fixed data set; a bandit learns online"},
    {"OjaNewton", "it does not support FastCB's log loss"},
    {"cb_adf", "FastCB predicts with the regressor directly; leave it out"},
    {"cb", "FastCB predicts with the regressor directly; leave it out"},
    {"cb_force_legacy", "FastCB has one implementation; leave it out"},
    {"csoaa_ldf", "FastCB predicts with the regressor directly"},
    {"wap_ldf", "FastCB predicts with the regressor directly"},
    {"rank_all", "FastCB returns the probability of every action, in order of preference"},
    {"no_predict", "FastCB learns from predictions"},
    {"eval", "evaluating a logged policy needs no exploration; leave --fastcb out"},
    {"link", "FastCB maps predictions to [0,1] itself"},
    {"min_prediction", "FastCB sets the bounds of the logits itself"},
    {"max_prediction", "FastCB sets the bounds of the logits itself"},
    {"binary", "FastCB needs a probability, not a sign"},
    {"boosting", "FastCB needs a probability, not a sign"},
    {"bootstrap", "FastCB explores with one regressor"},
    {"cats", "FastCB chooses among separate actions, not from a continuous range"},
    {"cats_pdf", "FastCB chooses among separate actions, not from a continuous range"},
    {"cats_tree", "FastCB chooses among separate actions, not from a continuous range"},
    {"cb_explore_pdf", "FastCB chooses among separate actions, not from a continuous range"},
    {"active", "it asks for labels; a bandit only sees the cost of the action it took"},
    {"active_cover", "it asks for labels; a bandit only sees the cost of the action it took"},
    {"confidence", "a pmf has no confidence to report"},
    {"replay_b", "it learns from an event later and several times; FastCB learns from each event once, right away"},
    {"replay_c", "it learns from an event later and several times; FastCB learns from each event once, right away"},
    {"replay_m", "it learns from an event later and several times; FastCB learns from each event once, right away"},
    {"noop", "it never learns"},
    {"print", "it never learns"},
    {"daemon",
        "the processes of a daemon share nothing but the weights, so their counters and their model drift apart. Learn "
        "from a file or a pipe, or call vw_fastcb.Workspace or vw_fastcb.FastCB from your own server"},
    {"sparse_weights", "a run that resumes from VW's sparse weights differs from an uninterrupted one"},
};

// The same for --cb_explore K, whose events have one line each and whose actions have no features.
constexpr refusal REFUSALS_OF_FIXED_ACTIONS[] = {
    {"cb_sample", "it moves the sampled action to the front of a list of actions"},
    {"explore_eval", "it evaluates a policy over actions with features"},
    {"ccb_explore_adf", "its actions have features"},
    {"slates", "its actions have features"},
    {"cbify_ldf", "its actions have features"},
    {"dsjson", "such a log contains actions with features"},
    {"constant", "VW gives it to the first action only"},
};

// Flags of VW's gradient descent that --fastcb_oracle newton would ignore.
constexpr const char* FLAGS_OF_GD[] = {"learning_rate", "power_t", "decay_learning_rate", "initial_t",
    "initial_pass_length", "sgd", "adaptive", "normalized", "invariant", "adax", "l1", "l2", "no_bias_regularization",
    "feature_mask", "initial_weight", "random_weights", "random_positive_weights", "normal_weights",
    "truncated_normal_weights", "predict_only_model", "passes"};

bool reads(const option_group_definition& group, const std::string& flag)
{
  return std::any_of(
      group.m_options.begin(), group.m_options.end(), [&](const auto& option) { return option->m_name == flag; });
}

bool enabled(const option_group_definition& group, const options_i& options)
{
  return !group.contains_necessary_options() || group.check_necessary_enabled(options);
}
}  // namespace

void require(bool holds, const std::string& sentence)
{
  if (!holds) { THROW(sentence); }
}

void refuse_flags(const options_i& options)
{
  if (!options.was_supplied("fastcb")) { return; }
  require(!(options.was_supplied("cb_explore_adf") && options.was_supplied("cb_explore")),
      "--fastcb was given both --cb_explore_adf and --cb_explore. Use --cb_explore_adf for actions with their own "
      "features, or --cb_explore K for K fixed actions.");
  const char* const perhaps_kept =
      options.was_supplied("initial_regressor")
          ? " If you did not give this flag, it comes from the model that -i names, which was not made with --fastcb."
          : "";
  for (const auto& refused : REFUSALS)
  {
    require(!options.was_supplied(refused.flag),
        std::string("--fastcb cannot be combined with --") + refused.flag + ": " + refused.reason + "." + perhaps_kept);
  }
  if (options.was_supplied("initial_regressor"))
  {
    const auto models = options.get_typed_option<std::vector<std::string>>("initial_regressor").value();
    require(models.size() == 1,
        "-i was given " + std::to_string(models.size()) +
            " models, and VW would only read the first. Give one. To combine models, use vw_fastcb.merge_models.");
  }
  const bool flips = options.was_supplied("flip_loss_sign");
  require(!(flips && (options.was_supplied("cbify_cs") || options.was_supplied("cbify_ldf"))),
      "--fastcb cannot be combined with --flip_loss_sign here: VW flips the costs of --cbify only, not those of "
      "--cbify_cs and --cbify_ldf.");
  require(!(options.was_supplied("nn") && options.was_supplied("noconstant")),
      "--fastcb cannot be combined with --nn and --noconstant together: without a constant, VW's neural network "
      "changes "
      "with each prediction. Leave one of the two out.");
  if (!options.was_supplied("cb_explore")) { return; }
  for (const auto& refused : REFUSALS_OF_FIXED_ACTIONS)
  {
    require(!options.was_supplied(refused.flag), std::string("--cb_explore K --fastcb cannot be combined with --") +
                                                     refused.flag + ": " + refused.reason + ". Use --cb_explore_adf.");
  }
}

void refuse_ignored_flags(const options_i& options)
{
  const auto& groups = options.get_all_option_group_definitions();
  for (const auto& option : options.get_all_options())
  {
    const auto& flag = option->m_name;
    // FastCB inserts this one itself; only gd reads it.
    if (!options.was_supplied(flag) || flag == "per_model_save_load") { continue; }
    std::string reader;
    bool read = false;
    for (const auto& group : groups)
    {
      if (!reads(group, flag)) { continue; }
      read = read || enabled(group, options);
      reader = group.m_name;
    }
    require(read || reader.empty(), "--fastcb cannot be combined with --" + flag + ": it belongs to \"" + reader +
                                        "\", which is not in use. Leave it out.");
  }
}

void refuse_flags_of_gd(const options_i& options)
{
  for (const char* flag : FLAGS_OF_GD)
  {
    require(!options.was_supplied(flag), std::string("--fastcb_oracle newton cannot be combined with --") + flag +
                                             ": it has no step size and nothing else of VW's gradient descent, and "
                                             "counts each event once. Leave one of the two out.");
  }
}

void refuse_flags_against_second_order(const options_i& options, const std::string& oracle)
{
  require(!options.was_supplied("noconstant"),
      "--fastcb_oracle " + oracle +
          " cannot be combined with --noconstant: it takes the mean from each feature, which "
          "amounts to a constant. Leave one of the two out.");
  require(!options.was_supplied("passes"),
      "--fastcb_oracle " + oracle +
          " cannot be combined with --passes: it knows how sure it is, and would be surer "
          "than its events allow, because it counts each event once. Leave one of the two out.");
}

void refuse_orphans(const options_i& options)
{
  if (options.was_supplied("fastcb"))
  {
    require(options.was_supplied("cb_explore_adf") || options.was_supplied("cb_explore"),
        "--fastcb needs to know the kind of actions: add --cb_explore_adf (actions with their own features) or "
        "--cb_explore K (K fixed actions).");
    return;
  }
  for (const char* flag : {"fastcb_objective", "fastcb_allocation", "fastcb_gamma", "fastcb_regret", "fastcb_oracle",
           "fastcb_capacity", "fastcb_memory", "fastcb_optimism", "fastcb_members", "fastcb_bad_events"})
  {
    require(!options.was_supplied(flag), std::string("--") + flag + " was given without --fastcb. Add --fastcb.");
  }
}
}  // namespace vw_fastcb

#include "explorer.h"

#include "allocation/allocation.h"
#include "model_state.h"
#include "strict/flags.h"

#include "vw/common/vw_throw.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/loss_functions.h"
#include "vw/core/setup_base.h"
#include "vw/core/shared_data.h"

#include <algorithm>
#include <cfloat>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace vw_fastcb
{
namespace
{
constexpr float LOGIT_BOUND = 50.f;  // VW's own bound for logistic loss

// VW hands out a workspace where an explorer is wanted: models that are merged, and learners on arrays.
class explorers_by_workspace
{
public:
  void add(const VW::workspace* all, explorer* own)
  {
    const std::lock_guard<std::mutex> lock(_mutex);
    _explorers[all] = own;
  }
  void remove(const VW::workspace* all, const explorer* own)
  {
    const std::lock_guard<std::mutex> lock(_mutex);
    const auto known = _explorers.find(all);
    if (known != _explorers.end() && known->second == own) { _explorers.erase(known); }
  }
  explorer* find(const VW::workspace* all)
  {
    const std::lock_guard<std::mutex> lock(_mutex);
    const auto known = _explorers.find(all);
    return known != _explorers.end() ? known->second : nullptr;
  }

private:
  std::mutex _mutex;
  std::unordered_map<const VW::workspace*, explorer*> _explorers;
};

explorers_by_workspace& explorers()
{
  static auto* const all = new explorers_by_workspace;  // never destroyed: workspaces may outlive static variables
  return *all;
}

// The loss that a model has kept. Version 0.3 added a huge number for each event where newton had interactions with
// wildcards, such as -q ::, and gamma grew beyond all bounds.
double checked_loss(double loss, uint64_t events)
{
  if (loss >= 0. && loss <= static_cast<double>(events)) { return loss; }
  THROW(
      "the model says that "
      << events << " events, of which each costs at most 1, had a loss of " << loss
      << ": version 0.3 of vw-fastcb miscounted it where --fastcb_gamma epochs met -q :: or another wildcard. What it "
         "has chosen since was hardly explored. Train a new model on the log, with the same flags and without -i: "
         "vw-fastcb --fastcb --fastcb_gamma epochs ... -d LOG -f MODEL.");
}

// Oracles know nothing of VW, and neither do their exceptions.
template <typename Work>
void as_vw_exceptions(Work work)
{
  try
  {
    work();
  }
  catch (const std::invalid_argument& problem)
  {
    THROW(problem.what());
  }
}

void check_place_of_gd(const oracle_kind& kind, const VW::workspace& all, const VW::LEARNER::learner& below)
{
  const auto* const bottom = below.get_name() == "generate_interactions" ? below.get_base_learner() : &below;
  if (bottom->get_name() == "gd" && !all.weights.sparse) { return; }
  THROW("--fastcb_oracle " << kind.name << " takes the place of VW's own regressor, but another flag put '"
                           << bottom->get_name() << "' there. Leave one of the two out.");
}
}  // namespace

explorer::explorer(const fastcb_options& options, VW::workspace& all)
    : _all(&all)
    , _kind(options.oracle())
    , _capacity(options.capacity())
    , _memory(options.memory())
    , _members(options.members())
    , _policy(options.policy())
    , _range(options.min_cost(), options.max_cost())
{
  explorers().add(_all, this);
}

explorer::~explorer() { explorers().remove(_all, this); }

explorer* explorer::of(const VW::workspace& all) { return explorers().find(&all); }

void explorer::use_log_loss()
{
  _all->loss_config.loss = VW::get_loss_function(*_all, "logistic", 0.f, 1.f);
  // VW sets the bounds along with the loss only for training; with -t they would stay those of squared loss.
  _all->sd->min_label = -LOGIT_BOUND;
  _all->sd->max_label = LOGIT_BOUND;
}

std::shared_ptr<VW::LEARNER::learner> explorer::set_up_base(VW::setup_base_i& stack_builder, size_t slots)
{
  use_log_loss();
  auto base = VW::LEARNER::require_singleline(stack_builder.setup_base_learner(slots));
  use_log_loss();  // setting up a base learner may change it
  if (base->get_name().rfind("scorer", 0) != 0)
  {
    THROW("--fastcb needs VW's regressor directly below it, but another flag put '"
          << base->get_name() << "' in between. Leave that flag out.");
  }
  refuse_ignored_flags(*stack_builder.get_options());
  _scorer = base.get();
  _prints = _all->output_config.audit || _all->output_config.hash_inv;
  auto& below = *base->get_base_learner();
  if (_kind.replaces_gd)
  {
    refuse_flags_of_gd(*stack_builder.get_options());
    check_place_of_gd(_kind, *_all, below);
  }
  if (_kind.has_deviations) { refuse_flags_against_second_order(*stack_builder.get_options(), _kind.name); }
  _regressor = _kind.make({*_all, below, _capacity, _memory, _members});
  return base;
}

void explorer::score(event& of, scores& known)
{
  known.clear();
  known.logits.resize(of.actions());
  if (_prints && _kind.replaces_gd) { print_features(of, of.has_slots() ? of.actions() : 1); }
  if (_policy.optimism > 0.) { _regressor->score_limits(of, _policy.shift(), known.logits, known.limits); }
  else { _regressor->score(of, known.logits); }
  if (_kind.replaces_gd)
  {
    for (auto* numbers : {&known.logits, &known.limits})
    {
      for (auto& logit : *numbers) { logit = std::min(LOGIT_BOUND, std::max(-LOGIT_BOUND, logit)); }
    }
  }
  of.keep_logits(known.logits);
}

// VW writes down what it predicts from: the features of each example with the weights in its table.
void explorer::print_features(event& of, size_t slots)
{
  _regressor->show_weights();
  auto& below = *_scorer->get_base_learner();
  for (size_t line = 0; line < of.lines(); ++line)
  {
    const whole_line whole(of, line);
    whole.example.l.simple.label = FLT_MAX;
    for (size_t slot = 0; slot < slots; ++slot) { below.predict(whole.example, slot); }
  }
  _regressor->hide_weights();
}

void explorer::allocate(const scores& known, std::vector<double>& pmf)
{
  _policy.allocate(known.to_allocate(), experience_now(), _predictions, pmf);
  if (!known.limits.empty()) { sigmoids(known.logits.data(), known.size(), _predictions.data()); }
}

experience explorer::experience_now() const
{
  const bool estimates = _policy.has_epochs && !(_policy.regret > 0.);
  return {_events, _loss, estimates ? _regressor->weights() : 0.};
}

bool explorer::can_learn_from(const VW::example& ec) const
{
  // Without a holdout set, VW's mark only means that the line had no label when it was parsed.
  const bool held_out = ec.test_only && !_all->passes_config.holdout_set_off;
  return !held_out && ec.weight > 0.f;
}

void explorer::learn(event& of, size_t action, float cost)
{
  const float unit_cost = std::min(1.f, std::max(0.f, _range.to_unit(cost)));
  const float outcome = _policy.to_outcome(unit_cost);
  // VW does not count events without a label as time, but forgets their number when it loads a model.
  _all->sd->t -= _unlabelled_before;
  _unlabelled_before = 0.;
  _regressor->learn(of, action, outcome);
  count_event(outcome);
}

void explorer::learn_all(event& of, const std::vector<float>& costs)
{
  std::vector<float> outcomes(costs.size());
  std::transform(costs.begin(), costs.end(), outcomes.begin(),
      [this](float cost) { return _policy.to_outcome(std::min(1.f, std::max(0.f, _range.to_unit(cost)))); });
  _regressor->learn_all(of, outcomes);
  count_event(0.);
}

void explorer::count_event(double outcome)
{
  ++_events;
  _loss += outcome;
}

double explorer::weight_learned() const
{
  if (_events == 0) { return 0.; }
  const double start = _is_difference ? 0. : _all->update_rule_config.initial_t;
  return std::max(0., _all->sd->t - start - _unlabelled_before - _all->sd->weighted_unlabeled_examples);
}

void explorer::merge(const std::vector<const explorer*>& models)
{
  _events = 0;
  _loss = 0.;
  std::vector<const regressor*> regressors;
  for (const auto* model : models)
  {
    set_arithmetic(std::min(_arithmetic, model->_arithmetic));  // the oldest there is
    _events += model->_events;
    _loss += model->_loss;
    _unlabelled_before += model->_unlabelled_before;
    _is_difference = _is_difference || model->_is_difference;
    regressors.push_back(model->_regressor.get());
  }
  if (!models.empty()) { _note = models[0]->_note; }
  // VW adds their clocks to this one, and each that is no difference began at initial_t.
  const double start = _all->update_rule_config.initial_t;
  _all->sd->t = _is_difference ? 0. : start - start * static_cast<double>(models.size());
  as_vw_exceptions([&] { _regressor->merge(regressors); });
}

void explorer::become_difference(const explorer& model, const explorer& base)
{
  if (model._events < base._events)
  {
    THROW("the base model has learned " << base._events << " events, and a model built on it only " << model._events
                                        << ". Give the base model that the others started from.");
  }
  set_arithmetic(std::min({_arithmetic, model._arithmetic, base._arithmetic}));
  as_vw_exceptions([&] { _regressor->become_difference(*model._regressor, *base._regressor); });
  _is_difference = true;
  _unlabelled_before = model._unlabelled_before - base._unlabelled_before;
  _events = model._events - base._events;
  _loss = model._loss - base._loss;
  _note = model._note;
}

void explorer::become_sum(const explorer& base, const explorer& difference)
{
  set_arithmetic(std::min({_arithmetic, base._arithmetic, difference._arithmetic}));
  as_vw_exceptions([&] { _regressor->become_sum(*base._regressor, *difference._regressor); });
  _unlabelled_before = base._unlabelled_before + difference._unlabelled_before;
  _events = base._events + difference._events;
  _loss = base._loss + difference._loss;
  _note = base._note.empty() ? difference._note : base._note;
}

void explorer::continue_from(const explorer& other)
{
  _events = other._events;
  _loss = other._loss;
  _unlabelled_before = other._unlabelled_before;
  _note = other._note;
  set_arithmetic(other._arithmetic);
  _regressor->continue_from(*other._regressor);
}

void explorer::set_arithmetic(uint64_t arithmetic)
{
  _arithmetic = arithmetic;
  _policy.limits_certainty = arithmetic > 0;
  _regressor->use_arithmetic(arithmetic);
}

void explorer::save_load(VW::io_buf& io, bool read, bool text)
{
  if (read) { use_log_loss(); }
  const auto own = _regressor->state();
  model_state state;
  state.counts = {_events, _unlabelled_before + _all->sd->weighted_unlabeled_examples};
  state.note = _note;
  if (_policy.has_epochs) { state.loss = _loss; }
  const bool has_state = !own.bytes.empty();
  if (_policy.has_epochs || has_state) { state.arithmetic = _arithmetic; }
  state.weights_in_table = own.weights_in_table;
  state.oracle = own.bytes;
  if (text) { _regressor->show_weights(); }  // VW writes its table next
  save_load_state(state, *_scorer, io, read, text);
  if (!read) { return; }
  _events = state.counts.events;
  _note = state.note;
  const bool vw_restores = _all->runtime_config.training && _all->output_model_config.preserve_performance_counters;
  _unlabelled_before = vw_restores ? 0. : state.counts.unlabelled;
  if (io.num_files() == 0) { return; }
  if (_policy.has_epochs)
  {
    if (!state.loss)
    {
      THROW("the model was made with --fastcb_gamma power and does not know its loss. Leave --fastcb_gamma out.");
    }
    _loss = checked_loss(*state.loss, _events);
  }
  set_arithmetic(state.arithmetic);
  if (!has_state) { return; }
  if (state.oracle.empty())
  {
    THROW("the model was made with VW's own regressor, not with --fastcb_oracle " << _kind.name
                                                                                  << ". Leave that flag out.");
  }
  _regressor->set_state({state.oracle, state.weights_in_table});
}
}  // namespace vw_fastcb

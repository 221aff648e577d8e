#include "oracle.h"

#include "allocation/allocation.h"
#include "model_state.h"
#include "strict/flags.h"

#include "vw/common/vw_exception.h"
#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/loss_functions.h"
#include "vw/core/parser.h"
#include "vw/core/reductions/gd.h"
#include "vw/core/setup_base.h"
#include "vw/core/shared_data.h"
#include "vw/core/simple_label.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace vw_fastcb
{
namespace
{
constexpr float LOGIT_BOUND = 50.f;  // VW's own bound for logistic loss

// While this lives, the shared features are part of an action's example, for when VW must see both.
class merged
{
public:
  merged(const VW::example* shared, VW::example& action) : _shared(shared), _action(action)
  {
    if (_shared != nullptr) { VW::details::append_example_namespaces_from_example(_action, *_shared); }
  }
  ~merged()
  {
    if (_shared != nullptr) { VW::details::truncate_example_namespaces_from_example(_action, *_shared); }
  }
  merged(const merged&) = delete;
  merged& operator=(const merged&) = delete;

private:
  const VW::example* _shared;
  VW::example& _action;
};

// Puts the interactions of an example back to what they were.
class own_interactions
{
public:
  explicit own_interactions(VW::example& ec)
      : _ec(ec)
      , _interactions(ec.interactions)
      , _extent_interactions(ec.extent_interactions)
  {
  }
  ~own_interactions()
  {
    _ec.interactions = _interactions;
    _ec.extent_interactions = _extent_interactions;
  }
  own_interactions(const own_interactions&) = delete;
  own_interactions& operator=(const own_interactions&) = delete;

private:
  VW::example& _ec;
  decltype(VW::example::interactions) _interactions;
  decltype(VW::example::extent_interactions) _extent_interactions;
};

feature_span span_of(const VW::example& ec, VW::namespace_index ns)
{
  const auto& features = ec.feature_space[ns];
  return {features.values.begin(), features.indices.begin(), features.size(), ns};
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

// Whether a feature, or a product in an interaction, may be so small that VW's multipredict ignores it.
bool may_be_tiny(const VW::workspace& all, const VW::example& ec)
{
  size_t longest = 1;
  const auto& tweaks = all.feature_tweaks_config;
  for (const auto& terms : tweaks.interactions) { longest = std::max(longest, terms.size()); }
  for (const auto& terms : tweaks.extent_interactions) { longest = std::max(longest, terms.size()); }
  float smallest = 1.f;
  for (const auto ns : ec.indices)
  {
    for (const auto value : ec.feature_space[ns].values)
    {
      if (value != 0.f) { smallest = std::min(smallest, std::fabs(value)); }
    }
  }
  return std::pow(static_cast<double>(smallest), static_cast<double>(longest)) < 1.001e-10;
}
}  // namespace

oracle::oracle(const fastcb_options& options, VW::workspace& all)
    : _all(&all)
    , _slot_scorer(all)
    , _range(options.min_cost(), options.max_cost())
    , _gamma_scale(options.gamma_scale())
    , _gamma_exponent(options.gamma_exponent())
    , _epochs(options.epochs())
    , _regret(options.regret())
    , _epsilon(options.epsilon())
    , _second_order(options.second_order())
    , _capacity(options.capacity())
    , _memory(options.memory())
    , _for_rewards(options.for_rewards())
    , _for_both(options.for_both())
    , _plain_igw(options.plain_igw())
{
}

void oracle::use_log_loss()
{
  _all->loss_config.loss = VW::get_loss_function(*_all, "logistic", 0.f, 1.f);
  // VW sets the bounds along with the loss only for training; with -t they would stay those of squared loss.
  _all->sd->min_label = -LOGIT_BOUND;
  _all->sd->max_label = LOGIT_BOUND;
}

std::shared_ptr<VW::LEARNER::learner> oracle::set_up_base(VW::setup_base_i& stack_builder, size_t feature_width)
{
  use_log_loss();
  auto base = VW::LEARNER::require_singleline(stack_builder.setup_base_learner(feature_width));
  use_log_loss();  // setting up a base learner may change it
  if (base->get_name().rfind("scorer", 0) != 0)
  {
    THROW("--fastcb needs VW's regressor directly below it, but another flag put '"
          << base->get_name() << "' in between. Leave that flag out.");
  }
  refuse_ignored_flags(*stack_builder.get_options());
  _scorer = base.get();
  _regressor = base->get_base_learner();
  const bool has_l1 = (_all->loss_config.reg_mode & 1) != 0;  // gd then truncates weights before it adds them
  _is_linear = _regressor->get_name() == "gd" && !has_l1 && !_all->weights.sparse;
  _prints = _all->output_config.audit || _all->output_config.hash_inv;
  if (_second_order) { set_up_newton(*stack_builder.get_options()); }
  return base;
}

void oracle::set_up_newton(const VW::config::options_i& options)
{
  refuse_flags_of_gd(options);
  const bool generates = _regressor->get_name() == "generate_interactions";
  const auto* const bottom = generates ? _regressor->get_base_learner() : _regressor;
  if (bottom->get_name() != "gd" || _all->weights.sparse)
  {
    THROW("--fastcb_oracle newton takes the place of VW's own regressor, but another flag put '"
          << bottom->get_name() << "' there. Leave one of the two out.");
  }
  if (generates)
  {
    _interactions =
        static_cast<VW::interactions_generator*>(_regressor->get_internal_type_erased_data_pointer_test_use_only());
  }
  _newton = std::make_unique<newton_regressor>(*_all, _capacity, _memory);
}

bool oracle::can_score_spans() const
{
  const auto& tweaks = _all->feature_tweaks_config;
  return _is_linear && !_newton && !_prints && !tweaks.ignore_some_linear && tweaks.extent_interactions.empty() &&
         split_scorer::covers_mask(_all->weights.dense_weights.mask()) && split_scorer::covers(tweaks.interactions);
}

void oracle::start_event(const feature_spans& shared)
{
  const auto& weights = _all->weights.dense_weights;
  _split_scorer.start_event(weights.data(), weights.mask(), 0, _all->feature_tweaks_config.interactions, shared);
}

float oracle::score(const feature_spans& own)
{
  size_t products = 0;
  return to_prediction(_split_scorer.score(own, 0.f, products));
}

bool oracle::can_split(const VW::multi_ex& actions) const
{
  if (!_is_linear || _all->feature_tweaks_config.ignore_some_linear ||
      !split_scorer::covers_mask(_all->weights.dense_weights.mask()))
  {
    return false;
  }
  const auto& first = *actions[0];
  const auto like_the_first = [&first](const VW::example* action)
  {
    return action->interactions == first.interactions && action->extent_interactions == first.extent_interactions &&
           action->ft_offset == first.ft_offset;
  };
  return first.extent_interactions->empty() && split_scorer::covers(*first.interactions) &&
         std::all_of(actions.begin(), actions.end(), like_the_first);
}

void oracle::split_scores(const VW::example* shared, const VW::multi_ex& actions, std::vector<float>& logits)
{
  _shared_spans.clear();
  if (shared != nullptr)
  {
    for (const auto ns : shared->indices)
    {
      // Each action has its own constant.
      if (ns != VW::details::CONSTANT_NAMESPACE) { _shared_spans.push_back(span_of(*shared, ns)); }
    }
  }
  const auto& weights = _all->weights.dense_weights;
  _split_scorer.start_event(
      weights.data(), weights.mask(), actions[0]->ft_offset, *actions[0]->interactions, _shared_spans);
  for (size_t a = 0; a < actions.size(); ++a)
  {
    auto& action = *actions[a];
    _own_spans.resize(action.indices.size());
    auto* span = _own_spans.data();
    for (const auto ns : action.indices) { *span++ = span_of(action, ns); }
    const auto& offset = action.ex_reduction_features.template get<VW::simple_label_reduction_features>();
    logits[a] = _split_scorer.score(_own_spans, offset.initial, action.num_features_from_interactions);
    action.partial_prediction = logits[a];
  }
  if (are_predictions(logits)) { return; }
  for (auto& logit : logits) { logit = to_prediction(logit); }
}

void oracle::score_actions(const VW::example* shared, VW::multi_ex& actions, std::vector<float>& logits)
{
  logits.resize(actions.size());
  if (_newton)
  {
    _one_logit.resize(1);
    for (size_t a = 0; a < actions.size(); ++a)
    {
      const merged whole(shared, *actions[a]);
      newton_scores(*actions[a], _one_logit);
      logits[a] = _one_logit[0];
    }
    return;
  }
  const bool splits = can_split(actions);
  if (!splits || _prints)
  {
    for (size_t a = 0; a < actions.size(); ++a)
    {
      const merged whole(shared, *actions[a]);
      logits[a] = predict(*actions[a]);
    }
  }
  // Even if VW has just predicted for its printout: printing must not change a probability, not even by rounding.
  if (splits) { split_scores(shared, actions, logits); }
}

template <typename Work>
void oracle::with_interactions(VW::example& ec, Work work)
{
  if (_interactions == nullptr)
  {
    work();
    return;
  }
  if (!_prints) { predict(ec); }  // VW sees which namespaces there are
  const own_interactions put_back(ec);
  ec.interactions = &_interactions->generated_interactions;
  if (!ec.extent_interactions->empty()) { ec.extent_interactions = &_interactions->generated_extent_interactions; }
  work();
}

void oracle::newton_scores(VW::example& ec, std::vector<float>& logits)
{
  const auto step = _regressor->feature_width_below;
  if (_prints)
  {
    _newton->show_weights(step);
    predict_slots(ec, logits);
  }
  with_interactions(ec, [&] { _newton->score(ec, step, logits); });
  for (auto& logit : logits) { logit = std::min(LOGIT_BOUND, std::max(-LOGIT_BOUND, logit)); }
}

float oracle::predict(VW::example& ec)
{
  ec.l.simple.label = FLT_MAX;
  _regressor->predict(ec);
  return ec.pred.scalar;
}

bool oracle::are_predictions(const std::vector<float>& sums) const
{
  const float least = _all->sd->min_label;
  const float most = _all->sd->max_label;
  const auto within = std::count_if(sums.begin(), sums.end(), [=](float x) { return x >= least && x <= most; });
  return static_cast<size_t>(within) == sums.size() && _all->sd->contraction == 1.;
}

float oracle::to_prediction(float sum) const
{
  // Features are finite, so a sum that is not comes from weights that overflowed; VW turns it into 0.
  return VW::details::finalize_prediction(*_all->sd, _all->logger, sum * static_cast<float>(_all->sd->contraction));
}

void oracle::score_slots(VW::example& ec, std::vector<float>& logits)
{
  if (_newton)
  {
    newton_scores(ec, logits);
    return;
  }
  if (!_is_linear || _prints)
  {
    predict_slots(ec, logits);
    return;
  }
  _slot_scorer.score(ec, _regressor->feature_width_below, logits.data(), logits.size());
  if (are_predictions(logits)) { return; }
  for (auto& logit : logits) { logit = to_prediction(logit); }
}

void oracle::predict_slots(VW::example& ec, std::vector<float>& logits)
{
  if (_prints || may_be_tiny(*_all, ec))
  {
    ec.l.simple.label = FLT_MAX;
    for (size_t slot = 0; slot < logits.size(); ++slot)
    {
      _regressor->predict(ec, slot);
      logits[slot] = ec.pred.scalar;
    }
    return;
  }
  _slots.resize(logits.size());
  ec.l.simple.label = FLT_MAX;
  _regressor->multipredict(ec, 0, logits.size(), _slots.data(), /*finalize_predictions=*/true);
  std::transform(_slots.begin(), _slots.end(), logits.begin(), [](const VW::polyprediction& p) { return p.scalar; });
}

std::vector<explained_term> oracle::explain(const VW::example* shared, VW::example& ec, size_t slots)
{
  if (!_newton && !_is_linear)
  {
    THROW("only a regressor that adds up weights can be explained, and this one is '"
          << _regressor->get_name() << "', or has --l1. Use oracle newton, or gd without flags that change it.");
  }
  const merged whole(shared, ec);
  const auto step = _regressor->feature_width_below;
  std::vector<explained_term> terms;
  if (_newton)
  {
    with_interactions(ec, [&] { terms = terms_of(*_all, ec); });
    const auto constant = _newton->index_of_constant();
    const auto has_index = [&](const explained_term& term) { return term.index == constant; };
    if (std::none_of(terms.begin(), terms.end(), has_index)) { terms.push_back({"", constant, 0., {}, {}}); }
    for (auto& term : terms)
    {
      for (size_t slot = 0; slot < slots; ++slot)
      {
        const auto part = _newton->part_of_score(term.index, term.value, slot, step);
        term.weights.push_back(part.weight);
        term.contributions.push_back(part.contribution + (has_index(term) ? _newton->score_of_zeros(slot) : 0.));
      }
    }
    return terms;
  }
  terms = terms_of(*_all, ec);
  const auto& weights = _all->weights.dense_weights;
  for (auto& term : terms)
  {
    for (size_t slot = 0; slot < slots; ++slot)
    {
      const double weight = double{weights.data()[(term.index + slot * step) & weights.mask()]} * _all->sd->contraction;
      term.weights.push_back(weight);
      term.contributions.push_back(weight * term.value);
    }
  }
  return terms;
}

void oracle::learn(VW::example& ec, float cost, size_t slot, bool just_scored)
{
  if (!prepare_to_learn(ec, cost)) { return; }
  const float outcome = ec.l.simple.label;  // a prediction, by which VW finds interactions, takes it away
  if (_newton)
  {
    const auto step = _regressor->feature_width_below;
    with_interactions(ec, [&] { _newton->learn(ec, slot, step, outcome, just_scored); });
  }
  else { _regressor->learn(ec, slot); }  // the scorer would compute a loss and a link that nothing uses
  count_event(outcome);
}

void oracle::see_action(const VW::example* shared, VW::example& action)
{
  const merged whole(shared, action);
  with_interactions(action, [&] { _newton->see(action); });
}

void oracle::learn_action(const VW::example* shared, VW::example& action, float cost)
{
  const merged whole(shared, action);
  learn(action, cost);
}

void oracle::learn_scored(VW::example& ec, float cost, size_t slot, float logit)
{
  if (_newton)
  {
    learn(ec, cost, slot, /*just_scored=*/true);
    return;
  }
  if (!prepare_to_learn(ec, cost)) { return; }
  const float outcome = ec.l.simple.label;
  if (_is_linear && !_prints)
  {
    ec.pred.scalar = logit;
    _regressor->update(ec, slot);
  }
  else { _regressor->learn(ec, slot); }
  count_event(outcome);
}

void oracle::count_event(float outcome)
{
  ++_events;
  _loss += outcome;
}

void oracle::learn_every_slot(VW::example& ec, const std::vector<float>& costs)
{
  if (!can_learn_from(ec)) { return; }
  std::vector<float> outcomes(costs.size());
  std::transform(costs.begin(), costs.end(), outcomes.begin(), [this](float cost) { return to_outcome(cost); });
  with_interactions(ec, [&] { _newton->learn_every_slot(ec, _regressor->feature_width_below, outcomes); });
  ++_events;
}

bool oracle::can_learn_from(const VW::example& ec) const
{
  // Without a holdout set, VW's mark only means that the line had no label when it was parsed.
  const bool held_out = ec.test_only && !_all->passes_config.holdout_set_off;
  return !held_out && ec.weight > 0.f;
}

bool oracle::prepare_to_learn(VW::example& ec, float cost)
{
  if (!can_learn_from(ec)) { return false; }
  // VW does not count events without a label as time, but forgets their number when it loads a model.
  _all->sd->t -= _unlabelled_before;
  _unlabelled_before = 0.;
  ec.l.simple.label = to_outcome(cost);
  return true;
}

float oracle::to_outcome(float cost) const
{
  const float unit_cost = std::min(1.f, std::max(0.f, _range.to_unit(cost)));
  return _for_rewards ? 1.f - unit_cost : unit_cost;
}

double oracle::gamma(size_t actions) const
{
  if (_epochs) { return epochs_gamma(_loss, regret(), actions); }
  return power_gamma(_gamma_scale, _gamma_exponent, _events);
}

double oracle::regret() const
{
  if (_regret > 0.) { return _regret; }
  const auto& block = _newton->block();
  auto weights = std::max(size_t{1}, block.slots().size()) * block.columns();
  if (_arithmetic > 0) { weights += _newton->weights_of_rest(); }
  return static_cast<double>(weights) * std::log(1. + power_of_two_above(static_cast<double>(_events)));
}

void oracle::take_predictions(std::vector<double>& taken) const
{
  taken.assign(_predictions.begin(), _predictions.end());
  if (!_epochs || _arithmetic == 0) { return; }
  // Laplace's rule of succession: after t events without a loss, the next one has one with a probability of 1 / (t +
  // 2). To keep predictions that far from 0 and 1 adds at most about 2 log t to the regret under log loss.
  const double least = 1. / (static_cast<double>(_events) + 2.);
  for (auto& prediction : taken) { prediction = std::clamp(prediction, least, 1. - least); }
}

void oracle::to_pmf(const std::vector<float>& logits, std::vector<double>& pmf)
{
  const size_t count = logits.size();
  const double greediness = gamma(count);
  _predictions.resize(count);
  sigmoids(logits.data(), count, _predictions.data());
  take_predictions(pmf);
  double* const p = pmf.data();
  if (_plain_igw && _for_rewards)
  {
    // The rule expects losses.
    for (auto& prediction : pmf) { prediction = 1. - prediction; }
    igw(p, count, greediness, p);
  }
  else if (_plain_igw) { igw(p, count, greediness, p); }
  else if (_for_rewards) { reweighted_igw_rewards(p, count, greediness, p); }
  else if (_for_both) { reweighted_igw_both(p, count, greediness, p); }
  else { reweighted_igw(p, count, greediness, p); }
  enforce_floor(p, count, _epsilon);
}

size_t oracle::weights_apart() const { return _regressor->feature_width_below; }

double oracle::weight_learned() const
{
  if (_events == 0) { return 0.; }
  const double start = _is_difference ? 0. : _all->update_rule_config.initial_t;
  return std::max(0., _all->sd->t - start - _unlabelled_before - _all->sd->weighted_unlabeled_examples);
}

void oracle::become_difference(const oracle& model, const oracle& base)
{
  _is_difference = true;
  _unlabelled_before = model._unlabelled_before - base._unlabelled_before;
}

void oracle::merge_clocks(const std::vector<const oracle*>& models)
{
  for (const auto* model : models)
  {
    _unlabelled_before += model->_unlabelled_before;
    _is_difference = _is_difference || model->_is_difference;
  }
  // VW adds their clocks to this one, and each that is no difference began at initial_t.
  const double start = _all->update_rule_config.initial_t;
  _all->sd->t = _is_difference ? 0. : start - start * static_cast<double>(models.size());
}

void oracle::add_clocks(const oracle& base, const oracle& difference)
{
  _unlabelled_before = base._unlabelled_before + difference._unlabelled_before;
}

void oracle::set_arithmetic(uint64_t arithmetic)
{
  _arithmetic = arithmetic;
  if (_newton) { _newton->sum_repeated(_arithmetic > 0); }
}

void oracle::continue_from(const oracle& other)
{
  _events = other._events;
  _loss = other._loss;
  _unlabelled_before = other._unlabelled_before;
  _note = other._note;
  set_arithmetic(other._arithmetic);
  if (_newton) { _newton->continue_from(*other._newton); }
}

void oracle::save_load(VW::io_buf& io, bool read, bool text)
{
  if (read) { use_log_loss(); }
  model_state state;
  state.counts = {_events, _unlabelled_before + _all->sd->weighted_unlabeled_examples};
  state.note = _note;
  if (_epochs) { state.loss = _loss; }
  if (_epochs || _newton) { state.arithmetic = _arithmetic; }
  if (_newton)
  {
    if (_arithmetic > 0) { state.weights_of_rest = _newton->weights_of_rest(); }
    state.oracle = _newton->bytes();
    _newton->hide_weights();
    if (text) { _newton->show_weights(_regressor->feature_width_below); }  // VW writes its table next
  }
  save_load_state(state, *_scorer, io, read, text);
  if (!read) { return; }
  _events = state.counts.events;
  _note = state.note;
  if (_epochs && io.num_files() > 0)
  {
    if (!state.loss)
    {
      THROW("the model was made with --fastcb_gamma power and does not know its loss. Leave --fastcb_gamma out.");
    }
    _loss = checked_loss(*state.loss, _events);
  }
  if (io.num_files() > 0) { set_arithmetic(state.arithmetic); }
  if (_newton && io.num_files() > 0)
  {
    if (state.oracle.empty())
    {
      THROW("the model was made with VW's own regressor, not with --fastcb_oracle newton. Leave that flag out.");
    }
    _newton->set_bytes(state.oracle);
    _newton->set_weights_of_rest(state.weights_of_rest);
  }
  const bool vw_restores = _all->runtime_config.training && _all->output_model_config.preserve_performance_counters;
  _unlabelled_before = vw_restores ? 0. : state.counts.unlabelled;
}
}  // namespace vw_fastcb

#include "array_learner.h"

#include "clock.h"
#include "reading/c_locale.h"
#include "reduction/explorer.h"
#include "reduction/model_in_memory.h"
#include "strict/bad_event.h"
#include "strict/products.h"

#include "vw/common/vw_throw.h"
#include "vw/config/cli_options_serializer.h"
#include "vw/config/options.h"
#include "vw/config/options_cli.h"
#include "vw/core/cb.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/io_buf.h"
#include "vw/core/learner.h"
#include "vw/core/parse_regressor.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include "fmt/format.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace vw_fastcb
{
namespace
{
std::shared_ptr<VW::workspace> make_workspace(
    std::vector<std::string> arguments, const std::optional<std::string_view>& model)
{
  const c_locale locale;  // VW reads the numbers of flags as the locale writes them
  std::optional<model_in_memory> given;
  if (model)
  {
    given.emplace(*model);
    arguments.insert(arguments.begin(), {"-i", model_in_memory::NAME});
  }
  return std::shared_ptr<VW::workspace>(VW::initialize(std::make_unique<VW::config::options_cli>(arguments)));
}

uint32_t fixed_actions_of(VW::workspace& all)
{
  if (!all.options->was_supplied("fastcb")) { THROW("the model was not made by --fastcb; expected one that was."); }
  for (const char* flag : {"affix", "spelling", "ngram", "skips", "redefine", "dictionary"})
  {
    if (all.options->was_supplied(flag))
    {
      THROW("--" << flag << " makes features of the words in a text, and arrays have none. Leave it out, or use "
                 << "vw_fastcb.Workspace.");
    }
  }
  return all.l->is_multiline() ? 0 : all.options->get_typed_option<uint32_t>("cb_explore").value();
}

// FastCB's own learner in the stack. What else stands above it must be something that arrays do without: checks of text
// and JSON, draws, reports.
VW::LEARNER::learner& fastcb_in(VW::workspace& all)
{
  static const std::set<std::string> not_needed{"cb_sample", "extra_metrics", "shared_feature_merger"};
  auto* learner = all.l.get();
  for (; learner->get_name().find("cb_explore") != 0; learner = learner->get_base_learner())
  {
    const auto& name = learner->get_name();
    if (not_needed.count(name) == 0 && name.rfind("fastcb", 0) != 0)
    {
      THROW("a flag puts VW's '" << name << "' above FastCB, and arrays would go past it. Leave the flag out, or use "
                                 << "vw_fastcb.Workspace.");
    }
  }
  return *learner;
}

// Whether each learner below FastCB is one of those that give an example back exactly as they found it and that are as
// they were after scoring one. VW's driver scores each event before it learns from it; a neural network draws its first
// weights then.
bool is_plain_regressor(VW::workspace& all)
{
  for (const auto* below = fastcb_in(all).get_base_learner(); below != nullptr; below = below->get_base_learner())
  {
    const auto& name = below->get_name();
    if (name != "scorer-identity" && name != "gd" && name.rfind("ftrl", 0) != 0) { return false; }
  }
  return true;
}
}  // namespace

array_learner::array_learner(const std::vector<std::string>& arguments, const std::optional<std::string_view>& model)
    : _all(make_workspace(arguments, model))
    , _explorer(nullptr)
    , _fixed_actions(fixed_actions_of(*_all))
    , _multiplies(false)
    , _scores_before_learning(!is_plain_regressor(*_all))
    , _event(*_all)
{
  _explorer = explorer::of(*_all);
  _multiplies = has_interactions() && !_explorer->kind().replaces_gd;
  // VW's neural network draws its first weights when it is first asked. Asked now, no decision changes the model.
  const bool is_new = !_all->options->was_supplied("initial_regressor");
  const auto no_features = feature_rows::dense(nullptr, false, 1, 0, 0, 0, nullptr);
  if (_scores_before_learning && is_new) { score(no_features, {no_features}, 0); }
}

array_learner::~array_learner() = default;

namespace
{
name_hash names_in(const VW::workspace& all, char name_space)
{
  auto& writable = const_cast<VW::workspace&>(all);  // VW's function takes it so and only reads
  return {all.parser_runtime.example_parser->hasher,
      static_cast<uint32_t>(VW::hash_space(writable, std::string(1, name_space))), all.runtime_state.parse_mask};
}
}  // namespace

name_hash array_learner::context_names() const { return names_in(*_all, CONTEXT_NAMESPACE); }

name_hash array_learner::action_names() const { return names_in(*_all, ACTION_NAMESPACE); }

double array_learner::weights_for(double context_features, double action_features) const
{
  const auto features_in = [&](VW::namespace_index name_space)
  {
    if (name_space == VW::details::WILDCARD_NAMESPACE) { return context_features + action_features; }
    return name_space == CONTEXT_NAMESPACE ? context_features : name_space == ACTION_NAMESPACE ? action_features : 0.;
  };
  double features = context_features + action_features + 1.;
  for (const auto& interaction : _all->feature_tweaks_config.interactions)
  {
    double products = 1.;
    for (const auto name_space : interaction) { products *= features_in(name_space); }
    features += products;
  }
  return features * _all->reduction_state.total_feature_width;
}

bool array_learner::has_interactions() const { return !_all->feature_tweaks_config.interactions.empty(); }

void array_learner::check_products(const feature_rows& contexts, const action_sets& actions, size_t row) const
{
  if (!_multiplies) { return; }
  const auto add = [](largest_values& values, char name_space, const feature_rows& rows, size_t at)
  { rows.for_each(at, [&](uint64_t, float value) { values.add(static_cast<unsigned char>(name_space), value); }); };
  largest_values of_context;
  add(of_context, CONTEXT_NAMESPACE, contexts, row);
  if (_fixed_actions > 0)
  {
    of_context.check(*_all);
    return;
  }
  auto of_all = of_context;
  const auto first = actions.begin(row);
  const auto end = first + actions.count(row);
  for (size_t at = first; at < end; ++at) { add(of_all, ACTION_NAMESPACE, actions.features, at); }
  if (of_all.can_be_multiplied(*_all)) { return; }
  for (size_t at = first; at < end; ++at)
  {
    auto of_action = of_context;
    add(of_action, ACTION_NAMESPACE, actions.features, at);
    of_action.check(*_all);
  }
}

void array_learner::score(const feature_rows& contexts, const action_sets& actions, size_t row)
{
  _event.start(contexts, actions, row, _fixed_actions);
  _explorer->score(_event, _scores);
}

void array_learner::to_pmf(double* pmf, double* predictions)
{
  if (_fixed_actions > 0)
  {
    _pmf.resize(_scores.size());
    _explorer->allocate(_scores, _pmf);
    std::copy(_pmf.begin(), _pmf.end(), pmf);
    std::copy(_explorer->predictions().begin(), _explorer->predictions().end(), predictions);
    return;
  }
  _ranked.rank(*_explorer, _scores);
  const auto& unit_predictions = _explorer->predictions();
  for (size_t i = 0; i < _ranked.size(); ++i)
  {
    pmf[_ranked.action(i)] = _ranked.exact_probability(i);
    predictions[_ranked.action(i)] = unit_predictions[i];
  }
}

void array_learner::to_pmf_without(const uint8_t* excluded, double* pmf, double* predictions)
{
  const size_t count = _scores.size();
  const auto all_scores = _scores;
  to_pmf(pmf, predictions);  // for the predictions of those that are excluded
  _allowed.clear();
  _scores.clear();
  for (size_t a = 0; a < count; ++a)
  {
    pmf[a] = 0.;
    if (excluded[a] != 0) { continue; }
    _allowed.push_back(a);
    _scores.add(all_scores, a);
  }
  _allowed_pmf.resize(_allowed.size());
  _allowed_predictions.resize(_allowed.size());
  to_pmf(_allowed_pmf.data(), _allowed_predictions.data());
  for (size_t i = 0; i < _allowed.size(); ++i) { pmf[_allowed[i]] = _allowed_pmf[i]; }
}

void array_learner::learn_from_event(uint32_t action, float cost, float weight)
{
  auto& label = _labelled.l.cb;
  label.reset_to_default();
  label.weight = weight;
  label.costs.emplace_back(cost, _fixed_actions > 0 ? action + 1 : 0, /*probability=*/1.f);
  if (_fixed_actions > 0) { _explorer->observed_action(_labelled, _fixed_actions); }
  else { _explorer->observed_action(VW::multi_ex{&_labelled}); }
  if (weight > 0.f)
  {
    _event.set_weight(weight);
    _explorer->learn(_event, action, cost);
  }
  advance_clock(*_all, weight);
}

bool array_learner::reads_all_actions() const
{
  return _scores_before_learning || (_fixed_actions == 0 && _explorer->reads_all_actions());
}

void array_learner::predict(const feature_rows& contexts, const action_sets& actions, size_t row, double* pmf,
    double* predictions, const uint8_t* excluded)
{
  check_products(contexts, actions, row);
  score(contexts, actions, row);
  if (excluded != nullptr) { to_pmf_without(excluded, pmf, predictions); }
  else { to_pmf(pmf, predictions); }
}

std::vector<std::vector<explained_term>> array_learner::explain(
    const feature_rows& contexts, const action_sets& actions, size_t row)
{
  _event.start(contexts, actions, row, _fixed_actions);
  std::vector<std::vector<explained_term>> explained;
  for (size_t line = 0; line < _event.lines(); ++line)
  {
    explained.push_back(_event.named_terms(line));
    _explorer->oracle().explain(explained.back(), _fixed_actions > 0 ? _fixed_actions : 1);
  }
  return explained;
}

void array_learner::learn(
    const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t action, float cost, float weight)
{
  const auto count = actions_of(actions, row);
  if (action >= count) { refuse(fmt::format("action {} is unknown; the event has {}.", action, count)); }
  check_products(contexts, actions, row);
  if (_scores_before_learning) { score(contexts, actions, row); }
  else { _event.start(contexts, actions, row, _fixed_actions); }
  learn_from_event(action, cost, weight);
}

array_learner::outcome array_learner::play(
    const feature_rows& contexts, const action_sets& actions, size_t row, double draw, const float* costs)
{
  const auto count = actions_of(actions, row);
  _round_pmf.resize(count);
  _round_predictions.resize(count);
  predict(contexts, actions, row, _round_pmf.data(), _round_predictions.data());
  const auto action = static_cast<uint32_t>(pick(_round_pmf.data(), count, draw));
  const outcome played{action, static_cast<float>(_round_pmf[action]), costs[action]};
  learn_from_event(played.action, played.cost, 1.f);
  return played;
}

array_learner::judgement array_learner::judge(const feature_rows& contexts, const action_sets& actions, size_t row,
    uint32_t action, float cost, float weight, double threshold, const uint8_t* excluded)
{
  const auto count = actions_of(actions, row);
  if (action >= count) { refuse(fmt::format("action {} is unknown; the event has {}.", action, count)); }
  _round_pmf.resize(count);
  _round_predictions.resize(count);
  predict(contexts, actions, row, _round_pmf.data(), _round_predictions.data(), excluded);
  const auto mean = std::inner_product(_round_pmf.begin(), _round_pmf.end(), _round_predictions.begin(), 0.);
  const judgement judged{_round_pmf[action], _round_predictions[action], mean};
  if (judged.probability > threshold) { learn_from_event(action, cost, weight); }
  return judged;
}

double array_learner::gamma() const { return _explorer->gamma(_scores.size()); }

std::vector<member_weight> array_learner::members() const { return _explorer->oracle().members(); }

uint64_t array_learner::events() const { return _explorer->events(); }

uint64_t array_learner::arithmetic() const { return _explorer->arithmetic(); }

void array_learner::use_arithmetic(uint64_t arithmetic)
{
  if (events() > 0 || arithmetic > ARITHMETIC)
  {
    refuse(fmt::format("arithmetic {} is asked of a learner of {} events; expected at most {}, of a new learner.",
        arithmetic, events(), ARITHMETIC));
  }
  _explorer->set_arithmetic(arithmetic);
}

uint32_t array_learner::bits() const { return _all->initial_weights_config.num_bits; }

std::string array_learner::kept_flags() const
{
  VW::config::cli_options_serializer flags;
  for (const auto& option : _all->options->get_all_options())
  {
    if (option->m_keep && _all->options->was_supplied(option->m_name)) { flags.add(*option); }
  }
  return flags.str();
}

const std::string& array_learner::note() const { return _explorer->note(); }

void array_learner::set_note(const std::string& note) { _explorer->set_note(note); }

void array_learner::save(const std::string& path) { VW::details::dump_regressor(*_all, path, /*as_text=*/false); }

std::vector<char> array_learner::model()
{
  std::vector<char> bytes;
  VW::io_buf buffer;
  buffer.add_file(std::make_unique<memory_writer>(bytes));
  VW::details::dump_regressor(*_all, buffer, /*as_text=*/false);
  return bytes;
}
}  // namespace vw_fastcb

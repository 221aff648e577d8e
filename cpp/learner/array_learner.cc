#include "array_learner.h"

#include "clock.h"
#include "reduction/fastcb.h"
#include "reduction/oracle.h"

#include "vw/common/vw_exception.h"
#include "vw/config/cli_options_serializer.h"
#include "vw/config/options.h"
#include "vw/config/options_cli.h"
#include "vw/core/cb.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parse_regressor.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include <set>

namespace vw_fastcb
{
namespace
{
constexpr char CONTEXT = 'x';
constexpr char ACTION = 'a';

std::shared_ptr<VW::workspace> make_workspace(const std::vector<std::string>& arguments)
{
  return std::shared_ptr<VW::workspace>(VW::initialize(std::make_unique<VW::config::options_cli>(arguments)));
}

uint32_t fixed_actions_of(VW::workspace& all)
{
  if (!all.options->was_supplied("fastcb")) { THROW("the model was not made by --fastcb; expected one that was."); }
  return all.l->is_multiline() ? 0 : all.options->get_typed_option<uint32_t>("cb_explore").value();
}

// Whether scoring leaves every learner of the stack as it was, which is known of these. VW's driver scores each event
// before it learns from it; a neural network draws its first weights then.
bool scoring_changes_nothing(VW::workspace& all)
{
  static const std::set<std::string> known{"shared_feature_merger", "fastcb_event_check", "cb_explore_adf_fastcb",
      "cb_explore_fastcb", "scorer-identity", "gd"};
  for (const auto* learner = all.l.get(); learner != nullptr; learner = learner->get_base_learner())
  {
    const auto& name = learner->get_name();
    if (known.count(name) == 0 && name.rfind("ftrl", 0) != 0) { return false; }
  }
  return true;
}

// Whether the stack is one that gives back the features of an example exactly as it found them, which is known of
// these learners. With a holdout set, setting up an example counts it.
bool leaves_examples_unchanged(VW::workspace& all)
{
  static const std::set<std::string> known{
      "shared_feature_merger", "cb_explore_adf_fastcb", "cb_explore_fastcb", "scorer-identity", "gd"};
  for (const auto* learner = all.l.get(); learner != nullptr; learner = learner->get_base_learner())
  {
    if (known.count(learner->get_name()) == 0) { return false; }
  }
  return all.passes_config.holdout_set_off && !all.parser_runtime.example_parser->write_cache;
}
}  // namespace

array_learner::array_learner(const std::vector<std::string>& arguments)
    : _all(make_workspace(arguments))
    , _oracle(nullptr)
    , _fixed_actions(fixed_actions_of(*_all))
    , _reuses_examples(leaves_examples_unchanged(*_all))
    , _scores_before_learning(!scoring_changes_nothing(*_all))
    , _context(*_all, CONTEXT)
{
  _oracle = &VW::reductions::fastcb_oracle(*_all->l);
}

array_learner::~array_learner() = default;

uint64_t array_learner::hash_of(char name_space, const std::string& name) const
{
  const auto& parser = *_all->parser_runtime.example_parser;
  const auto space = VW::hash_space(*_all, std::string(1, name_space));
  return parser.hasher(name.data(), name.size(), static_cast<uint32_t>(space));
}

uint64_t array_learner::index_mask() const { return _all->runtime_state.parse_mask; }

void array_learner::forget_examples()
{
  _context.forget();
  for (auto& action : _pool) { action->forget(); }
}

void array_learner::prepare(const feature_rows& contexts, const action_sets& actions, size_t row, float weight)
{
  if (!_reuses_examples) { forget_examples(); }
  _context.fill(contexts, row, weight, /*shared=*/_fixed_actions == 0);
  if (_fixed_actions > 0) { return; }
  const auto first = actions.begin(row);
  const auto count = actions.count(row);
  while (_pool.size() < count) { _pool.push_back(std::make_unique<filled_example>(*_all, ACTION)); }
  _event.clear();
  _event.push_back(&_context.ec);
  for (size_t a = 0; a < count; ++a)
  {
    _pool[a]->fill(actions.features, first + a, weight);
    _event.push_back(&_pool[a]->ec);
  }
}

// What is thrown may leave examples half changed.
template <typename Work>
void array_learner::run(Work work)
{
  try
  {
    if (_fixed_actions > 0) { work(_context.ec); }
    else { work(_event); }
  }
  catch (...)
  {
    forget_examples();
    throw;
  }
}

void array_learner::predict_prepared()
{
  run([this](auto& event) { _all->l->predict(event); });
}

void array_learner::learn_prepared(uint32_t action, float cost, float probability)
{
  auto& chosen = _fixed_actions > 0 ? _context.ec : _pool[action]->ec;
  chosen.l.cb.costs.emplace_back(cost, _fixed_actions > 0 ? action + 1 : 0, probability);
  run([this](auto& event) { _all->l->learn(event); });
  advance_clock(*_all, chosen.weight);
}

void array_learner::predict(
    const feature_rows& contexts, const action_sets& actions, size_t row, double* pmf, double* predictions)
{
  prepare(contexts, actions, row, 1.f);
  predict_prepared();
  const auto& scores = _context.ec.pred.a_s;  // VW puts the prediction of an event on its first line
  const auto& unit_predictions = _oracle->predictions();
  for (size_t i = 0; i < scores.size(); ++i)
  {
    pmf[scores[i].action] = scores[i].score;
    predictions[scores[i].action] = unit_predictions[i];
  }
}

void array_learner::learn(const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t action,
    float cost, float probability, float weight)
{
  const auto count = actions_of(actions, row);
  if (action >= count) { THROW("bad event: action " << action << " is unknown; the event has " << count << "."); }
  prepare(contexts, actions, row, weight);
  if (_scores_before_learning) { predict_prepared(); }
  learn_prepared(action, cost, probability);
}

array_learner::outcome array_learner::play(
    const feature_rows& contexts, const action_sets& actions, size_t row, double draw, const float* costs)
{
  prepare(contexts, actions, row, 1.f);
  predict_prepared();
  const auto& scores = _context.ec.pred.a_s;
  _pmf.resize(scores.size());
  for (const auto& entry : scores) { _pmf[entry.action] = entry.score; }
  const auto action = static_cast<uint32_t>(pick(_pmf.data(), _pmf.size(), draw));
  const outcome played{action, static_cast<float>(_pmf[action]), costs[action]};
  learn_prepared(played.action, played.cost, played.probability);
  return played;
}

bool all_finite(const feature_rows& features) { return features.finite(); }

double array_learner::gamma() const { return _oracle->gamma(); }

uint64_t array_learner::events() const { return _oracle->events(); }

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

void array_learner::save(const std::string& path) { VW::details::dump_regressor(*_all, path, /*as_text=*/false); }
}  // namespace vw_fastcb

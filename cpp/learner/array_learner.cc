#include "array_learner.h"

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
#include "vw/core/vw.h"

#include <cfloat>

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

// The mark of a line of shared features, as VW's parsers set it.
void mark_as_shared(VW::example& ec)
{
  ec.l.cb.reset_to_default();
  ec.l.cb.costs.emplace_back(FLT_MAX, 0, -1.f);
}
}  // namespace

array_learner::array_learner(const std::vector<std::string>& arguments)
    : _all(make_workspace(arguments))
    , _fixed_actions(fixed_actions_of(*_all))
{
  _oracle = &VW::reductions::fastcb_oracle(*_all->l);
  _context.interactions = &_all->feature_tweaks_config.interactions;
  _context.extent_interactions = &_all->feature_tweaks_config.extent_interactions;
}

array_learner::~array_learner() = default;

uint64_t array_learner::index_of(char name_space, const std::string& name) const
{
  const auto space = VW::hash_space(*_all, std::string(1, name_space));
  return VW::hash_feature(*_all, name, space);
}

void array_learner::fill(VW::example& ec, char name_space, const named_rows& features, size_t row, float weight)
{
  VW::empty_example(*_all, ec);
  ec.l.cb.weight = weight;
  const auto ns = static_cast<VW::namespace_index>(name_space);
  auto& space = ec.feature_space[ns];
  const auto* index_of_column = features.index_of_column;
  features.rows.for_each(row, [&](size_t column, float value) { space.push_back(value, index_of_column[column]); });
  if (!space.empty()) { ec.indices.push_back(ns); }
  VW::setup_example(*_all, &ec);
}

// Sets up the examples of an event; returns the number of its actions.
size_t array_learner::prepare(const named_rows& contexts, const action_sets& actions, size_t row, float weight)
{
  _context.l.cb.reset_to_default();
  if (_fixed_actions > 0)
  {
    fill(_context, CONTEXT, contexts, row, weight);
    return _fixed_actions;
  }
  mark_as_shared(_context);
  fill(_context, CONTEXT, contexts, row, weight);
  const auto first = static_cast<size_t>(actions.first[row]);
  const auto count = static_cast<size_t>(actions.first[row + 1]) - first;
  while (_pool.size() < count)
  {
    _pool.push_back(std::make_unique<VW::example>());
    _pool.back()->interactions = _context.interactions;
    _pool.back()->extent_interactions = _context.extent_interactions;
  }
  _event.clear();
  _event.push_back(&_context);
  for (size_t a = 0; a < count; ++a)
  {
    _pool[a]->l.cb.reset_to_default();
    fill(*_pool[a], ACTION, actions.features, first + a, weight);
    _event.push_back(_pool[a].get());
  }
  return count;
}

void array_learner::predict_prepared()
{
  if (_fixed_actions > 0) { _all->l->predict(_context); }
  else { _all->l->predict(_event); }
}

void array_learner::learn_prepared(uint32_t action, float cost, float probability)
{
  auto& chosen = _fixed_actions > 0 ? _context : *_pool[action];
  chosen.l.cb.costs.emplace_back(cost, _fixed_actions > 0 ? action + 1 : 0, probability);
  if (_fixed_actions > 0) { _all->l->learn(_context); }
  else { _all->l->learn(_event); }
}

void array_learner::predict(
    const named_rows& contexts, const action_sets& actions, size_t row, double* pmf, double* predictions)
{
  const auto count = prepare(contexts, actions, row, 1.f);
  predict_prepared();
  const auto& scores = _context.pred.a_s;  // VW puts the prediction of an event on its first line
  for (size_t i = 0; i < count; ++i)
  {
    pmf[scores[i].action] = scores[i].score;
    predictions[scores[i].action] = _oracle->predictions()[i];
  }
}

void array_learner::learn(const named_rows& contexts, const action_sets& actions, size_t row, uint32_t action,
    float cost, float probability, float weight)
{
  const auto count = prepare(contexts, actions, row, weight);
  if (action >= count) { THROW("bad event: action " << action << " is unknown; the event has " << count << "."); }
  learn_prepared(action, cost, probability);
}

array_learner::outcome array_learner::play(
    const named_rows& contexts, const action_sets& actions, size_t row, double draw, const float* costs)
{
  prepare(contexts, actions, row, 1.f);
  predict_prepared();
  const auto& scores = _context.pred.a_s;
  size_t rank = 0;
  for (double below = scores[0].score; below <= draw && rank + 1 < scores.size(); below += scores[rank].score)
  {
    ++rank;
  }
  const outcome played{scores[rank].action, scores[rank].score, costs[scores[rank].action]};
  learn_prepared(played.action, played.cost, played.probability);
  return played;
}

double array_learner::gamma() const { return _oracle->gamma(); }

uint64_t array_learner::events() const { return _oracle->events(); }

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

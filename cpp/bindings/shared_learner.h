// What register_learner.cc hands to Python: an array_learner that many threads may use, and the readers of its rows.
#pragma once

#include "learner/array_learner.h"
#include "learner/fork_safe_mutex.h"
#include "learner/random_draws.h"
#include "row_reader.h"
#include "strict/bad_event.h"

#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vw_fastcb
{
// The events of a call: contexts, and where actions have features, those.
struct event_arrays
{
  feature_rows contexts;
  action_sets actions;

  explicit event_arrays(const feature_rows& contexts) : contexts(contexts) {}

  event_arrays(const encoded_rows& context_rows, const encoded_rows* action_rows, const std::optional<indices>& first)
      : contexts(context_rows.features)
  {
    if (action_rows != nullptr) { actions.features = action_rows->features; }
    if (first) { actions.first = first->data(); }
  }

  // Where the actions of an event begin in arrays that hold those of all events one after another.
  size_t begin(size_t event, uint32_t fixed_actions) const
  {
    if (actions.first != nullptr) { return actions.begin(event); }
    return event * (fixed_actions > 0 ? fixed_actions : actions.features.rows());
  }
};

// An array_learner for many threads: one at a time is inside, none of them holds the interpreter. The readers are used
// with the interpreter held.
class shared_learner
{
public:
  // VW's command line, and the bytes of a model where they are not in a file that -i names. A learner that is not told
  // otherwise draws what nobody can repeat.
  shared_learner(const std::vector<std::string>& arguments, const std::optional<py::bytes>& model)
      : _learner(made_by_vw(arguments, model))
      , contexts(_learner.context_names(), "contexts")
      , actions(_learner.action_names(), "action features")
      , fixed_actions(_learner.fixed_actions())
      , reads_all_actions(_learner.reads_all_actions())
      , _has_interactions(_learner.has_interactions())
      , _draws(random_draws::fresh())
      , _forks(fork_safe_mutex::forks())
  {
  }

  // How the learner is used, which a model file does not say in VW's terms. Predictions are given as offset + slope *
  // what the engine says, which lies in [0,1]. Without `draws`, processes that were forked draw differently.
  void use_as(double offset, double slope, const std::optional<uint64_t>& draws, bool marks_missing)
  {
    _offset = offset;
    _slope = slope;
    if (draws) { repeat_from(*draws); }
    contexts.mark_missing(marks_missing);
    actions.mark_missing(marks_missing);
  }

  template <typename Work>
  auto locked(Work work)
  {
    const py::gil_scoped_release release;
    return locked_without_interpreter(work);
  }

  // For work on one event: with a small one it holds the interpreter. To let it go and get it back takes longer than
  // the work where other threads wait for it, and the callers' locks are kept meanwhile.
  template <typename Work>
  auto locked_for_event(const event_arrays& events, size_t count, Work work)
  {
    std::unique_lock<fork_safe_mutex> lock(_mutex, std::defer_lock);
    if (is_small(events, count) && lock.try_lock()) { return inside(work); }
    return locked(work);
  }

  // For callers that have let the interpreter go themselves.
  template <typename Work>
  auto locked_without_interpreter(Work work)
  {
    const std::lock_guard<fork_safe_mutex> lock(_mutex);
    return inside(work);
  }

  // Inside the lock only, as are the next two.
  void predict(const event_arrays& events, size_t row, double* pmf, double* predictions, const uint8_t* excluded)
  {
    _learner.predict(events.contexts, events.actions, row, pmf, predictions, excluded);
    const auto count = _learner.actions_of(events.actions, row);
    for (size_t a = 0; a < count; ++a) { predictions[a] = in_user_terms(predictions[a]); }
  }

  // What the engine predicts, in [0,1], as a cost or a reward.
  double in_user_terms(double prediction) const { return _offset + _slope * prediction; }

  double next_draw()
  {
    if (!_repeatable && _forks != fork_safe_mutex::forks())
    {
      _forks = fork_safe_mutex::forks();
      _draws = random_draws::fresh();
    }
    return _draws.next();
  }

  random_draws& draws() { return _draws; }
  bool repeatable() const { return _repeatable; }
  void repeat_from(uint64_t state)
  {
    _draws = random_draws(state);
    _repeatable = true;
  }

  // What a good call had for columns is expected of the next ones.
  void remember(const encoded_rows& context_rows, const encoded_rows* action_rows)
  {
    const bool new_columns = contexts.columns().is_none() && !context_rows.columns.is_none();
    contexts.remember(context_rows);
    if (action_rows != nullptr) { actions.remember(*action_rows); }
    const bool grown = contexts.has_grown();
    if (actions.has_grown() || grown || new_columns) { warn_where_crowded(); }
  }

  // How large the table of weights has to be for arrays of these widths.
  uint32_t bits_for(size_t context_columns, size_t action_columns)
  {
    const auto needed = _learner.weights_for(static_cast<double>(context_columns), static_cast<double>(action_columns));
    const double room = _learner.has_interactions() ? 4. : 1.;
    return static_cast<uint32_t>(std::ceil(std::log2(needed * room)));
  }

private:
  template <typename Work>
  auto inside(Work work)
  {
    try
    {
      return work(_learner);
    }
    catch (const bad_event& problem)
    {
      throw std::invalid_argument(problem.what());  // Python's ValueError
    }
  }

  // Whether an event of so many actions takes the engine some microseconds at most.
  bool is_small(const event_arrays& events, size_t count) const
  {
    constexpr size_t FEW = 1 << 13;  // features, those that interactions make included
    const auto& of_actions = events.actions.features;
    size_t work = 0;
    for (size_t a = 0; a < count && work <= FEW; ++a)
    {
      const auto width = 1 + events.contexts.width(0) + (of_actions.rows() > 0 ? of_actions.width(a) : 0);
      work += _has_interactions ? width * width : width;
    }
    return work <= FEW;
  }

  // Other threads go on while VW reads a model, which takes a while; but VW makes one workspace at a time.
  static array_learner made_by_vw(const std::vector<std::string>& arguments, const std::optional<py::bytes>& model)
  {
    static auto* const one_at_a_time = new fork_safe_mutex;
    const auto bytes = model ? std::optional<std::string_view>(*model) : std::nullopt;
    const py::gil_scoped_release release;
    const std::lock_guard<fork_safe_mutex> lock(*one_at_a_time);
    return array_learner(arguments, bytes);
  }

  // Once: features that share a weight are learned as if they were one.
  void warn_where_crowded()
  {
    const auto needed = _learner.weights_for(static_cast<double>(contexts.used()), static_cast<double>(actions.used()));
    const double weights = std::ldexp(1., static_cast<int>(_learner.bits()));
    // Names that are the numbers of columns lie one after another; other names fall where they may.
    const bool hashed = _learner.has_interactions() || !py::isinstance<py::int_>(contexts.columns());
    if (_warned || needed <= (hashed ? weights / 2 : weights)) { return; }
    _warned = true;
    const auto message = std::string("the features seen so far need about ") +
                         std::to_string(static_cast<uint64_t>(needed)) +
                         " weights, and bits=" + std::to_string(_learner.bits()) + " has room for " +
                         std::to_string(static_cast<uint64_t>(weights)) +
                         ": some features share a weight. Make the learner with more bits, for example bits=" +
                         std::to_string(static_cast<int>(std::ceil(std::log2(needed * 2)))) + ".";
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 2) != 0) { throw py::error_already_set(); }
  }

  array_learner _learner;

public:
  row_reader contexts;
  row_reader actions;
  const uint32_t fixed_actions;
  const bool reads_all_actions;

private:
  const bool _has_interactions;
  fork_safe_mutex _mutex;
  random_draws _draws;
  bool _repeatable = false;
  uint64_t _forks;
  double _offset = 0.;
  double _slope = 1.;
  bool _warned = false;
};
}  // namespace vw_fastcb

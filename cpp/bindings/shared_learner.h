// What register_learner.cc hands to Python: an array_learner that many threads may use.
#pragma once

#include "learner/array_learner.h"
#include "learner/fork_safe_mutex.h"
#include "learner/random_draws.h"
#include "numpy_rows.h"
#include "quick_rows.h"
#include "strict/bad_event.h"

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace vw_fastcb
{
using optional_rows = std::optional<py::tuple>;
using optional_indices = std::optional<indices>;

// The events of a call: contexts, and where actions have features, those.
struct event_arrays
{
  feature_rows contexts;
  action_sets actions;

  explicit event_arrays(const feature_rows& contexts) : contexts(contexts) {}

  event_arrays(const py::tuple& context_rows, const optional_rows& action_rows, const optional_indices& first)
      : contexts(rows_of(context_rows))
  {
    if (action_rows) { actions.features = rows_of(*action_rows); }
    if (first) { actions.first = first->data(); }
  }

  // Where the actions of an event begin in arrays that hold those of all events one after another.
  size_t begin(size_t event, uint32_t fixed_actions) const
  {
    if (actions.first != nullptr) { return actions.begin(event); }
    return event * (fixed_actions > 0 ? fixed_actions : actions.features.rows());
  }
};

// An array_learner for many threads: one at a time is inside, none of them holds the interpreter.
class shared_learner
{
public:
  // Predictions are told as offset + slope * what the engine says, which lies in [0,1].
  shared_learner(const std::vector<std::string>& arguments, double offset, double slope, uint64_t draws)
      : draws(draws)
      , _learner(arguments)
      , _offset(offset)
      , _slope(slope)
  {
    fixed_actions = _learner.fixed_actions();
    scores_before_learning = _learner.scores_before_learning();
  }

  template <typename Work>
  auto locked(Work work)
  {
    const py::gil_scoped_release release;
    return locked_without_interpreter(work);
  }

  // For callers that have let the interpreter go themselves.
  template <typename Work>
  auto locked_without_interpreter(Work work)
  {
    const std::lock_guard<fork_safe_mutex> lock(_mutex);
    try
    {
      return work(_learner);
    }
    catch (const bad_event& problem)
    {
      throw std::invalid_argument(problem.what());  // Python's ValueError
    }
  }

  // Inside the lock only.
  void predict(const event_arrays& events, size_t row, double* pmf, double* predictions)
  {
    _learner.predict(events.contexts, events.actions, row, pmf, predictions);
    const auto count = _learner.actions_of(events.actions, row);
    for (size_t a = 0; a < count; ++a) { predictions[a] = _offset + _slope * predictions[a]; }
  }

  // The names of a namespace. Their hashes do not change: they need no lock.
  auto names(char name_space) const
  {
    const auto hash = [this, name_space](const std::string& name) { return _learner.hash_of(name_space, name); };
    return name_table<decltype(hash)>{hash, _learner.index_mask()};
  }

  uint32_t fixed_actions = 0;
  bool scores_before_learning = false;
  random_draws draws;
  column_table context_columns;  // of the plain arrays that decide and learn_one take
  column_table action_columns;
  plain_copy last_actions;  // decisions that were made of the same actions share one copy

private:
  fork_safe_mutex _mutex;
  array_learner _learner;
  double _offset;
  double _slope;
};
}  // namespace vw_fastcb

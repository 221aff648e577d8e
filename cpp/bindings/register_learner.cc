#include "numpy_rows.h"
#include "register.h"
#include "shared_learner.h"

#include "vw/core/global_data.h"

#include <pybind11/stl.h>

#include <optional>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
constexpr char CONTEXT = 'x';
constexpr char ACTION = 'a';

columns hashes_of(const shared_learner& self, char name_space, const std::vector<std::string>& names)
{
  columns result(static_cast<py::ssize_t>(names.size()));
  std::transform(names.begin(), names.end(), result.mutable_data(), self.names(name_space).hash);
  return result;
}

columns places_of(const shared_learner& self, char name_space, const std::vector<std::string>& names)
{
  auto places = hashes_of(self, name_space, names);
  const auto mask = self.names(name_space).mask;
  std::for_each(places.mutable_data(), places.mutable_data() + places.size(), [mask](uint64_t& x) { x &= mask; });
  return places;
}

// From a list of dictionaries to placed rows.
py::tuple place_dicts(const shared_learner& self, char name_space, const py::list& dicts)
{
  const auto names = self.names(name_space);
  return placed_dicts(names.hash, names.mask, dicts);
}

void place_rows_of(const shared_learner& self, floats& values, columns& hashes, const indices& offsets)
{
  place_rows(values, hashes, offsets, self.names(CONTEXT).mask);
}

// The first call counts: other threads may read the table.
void use_columns(shared_learner& self, char name_space, const columns& where)
{
  auto& table = name_space == CONTEXT ? self.context_columns : self.action_columns;
  if (table.empty()) { table.assign(where.data(), where.data() + where.size()); }
}

// One decision in one call: action, probability, pmf, predictions, gamma, and copies of what was given. None where
// that is not in one of the quick forms; the caller then looks closer and says what is wrong.
py::object decide(
    shared_learner& self, const py::handle& context, const py::handle& actions, const std::optional<double>& draw)
{
  if (actions.is_none() != (self.fixed_actions > 0)) { return py::none(); }
  plain_copy copy;
  const auto row = take_rows(context, 1, self.context_columns, self.names(CONTEXT), copy);
  if (!row) { return py::none(); }
  py::object kept_actions = py::none();
  event_arrays events(row->features);
  if (self.fixed_actions == 0)
  {
    const auto features = take_rows(actions, 2, self.action_columns, self.names(ACTION), self.last_actions);
    if (!features) { return py::none(); }
    events.actions.features = features->features;
    kept_actions = features->kept;
  }
  const auto count = self.fixed_actions > 0 ? self.fixed_actions : events.actions.features.rows();
  doubles pmf(static_cast<py::ssize_t>(count));
  doubles predictions(static_cast<py::ssize_t>(count));
  double* const p = pmf.mutable_data();
  double* const y = predictions.mutable_data();
  size_t action = 0;
  const double gamma = self.locked(
      [&](array_learner& learner)
      {
        self.predict(events, 0, p, y);
        action = pick(p, count, draw ? *draw : self.draws.next());
        return learner.gamma();
      });
  freeze(pmf);
  freeze(predictions);
  return py::make_tuple(action, p[action], pmf, predictions, gamma, row->kept, kept_actions);
}

// Learns from one event, of whose actions only the chosen one is read. False where it is not in one of the quick forms,
// or the action is not among its actions.
bool learn_one(shared_learner& self, const py::handle& context, const py::handle& actions, int64_t action, float cost,
    float probability, float weight)
{
  const bool fixed = self.fixed_actions > 0;
  if (actions.is_none() != fixed || action < 0 || self.scores_before_learning) { return false; }
  if (fixed && action >= static_cast<int64_t>(self.fixed_actions)) { return false; }
  const auto row = read_row(context, 1, 0, self.context_columns, self.names(CONTEXT));
  if (!row) { return false; }
  std::optional<quick_rows> chosen;
  event_arrays events(row->features);
  if (!fixed)
  {
    chosen = read_row(actions, 2, action, self.action_columns, self.names(ACTION));
    if (!chosen) { return false; }
    events.actions.features = chosen->features;
  }
  const auto place = fixed ? static_cast<uint32_t>(action) : 0;
  self.locked([&](array_learner& learner)
      { learner.learn(events.contexts, events.actions, 0, place, cost, probability, weight); });
  return true;
}

// Of all events, one after another.
py::tuple predict(
    shared_learner& self, const py::tuple& contexts, const optional_rows& actions, const optional_indices& first)
{
  const event_arrays events(contexts, actions, first);
  const auto count = events.contexts.rows();
  const auto total = static_cast<py::ssize_t>(count == 0 ? 0 : events.begin(count, self.fixed_actions));
  doubles pmf(total);
  doubles predictions(total);
  double* const p = pmf.mutable_data();
  double* const y = predictions.mutable_data();
  const double gamma = self.locked(
      [&](array_learner& learner)
      {
        for (size_t i = 0; i < count; ++i)
        {
          const auto at = events.begin(i, self.fixed_actions);
          self.predict(events, i, p + at, y + at);
        }
        return learner.gamma();
      });
  return py::make_tuple(pmf, predictions, gamma);
}

// Draws one action for each event, whose probabilities begin at first[i]; with the learner's own draws unless one is
// given.
py::tuple draw_actions(
    shared_learner& self, const doubles& pmf, const indices& first, const std::optional<double>& draw)
{
  const auto count = static_cast<size_t>(first.size()) - 1;
  indices actions(static_cast<py::ssize_t>(count));
  doubles probabilities(static_cast<py::ssize_t>(count));
  auto* action = actions.mutable_data();
  auto* probability = probabilities.mutable_data();
  const auto* p = pmf.data();
  const auto* begin = first.data();
  self.locked(
      [&](array_learner&)
      {
        for (size_t i = 0; i < count; ++i)
        {
          const auto picked =
              pick(p + begin[i], static_cast<size_t>(begin[i + 1] - begin[i]), draw ? *draw : self.draws.next());
          action[i] = static_cast<int64_t>(picked);
          probability[i] = p[begin[i] + static_cast<int64_t>(picked)];
        }
      });
  return py::make_tuple(actions, probabilities);
}

void learn(shared_learner& self, const py::tuple& contexts, const optional_rows& actions, const optional_indices& first,
    const indices& chosen, const floats& costs, const floats& probabilities, const floats& weights)
{
  const event_arrays events(contexts, actions, first);
  const auto* action = chosen.data();
  const auto* cost = costs.data();
  const auto* probability = probabilities.data();
  const auto* weight = weights.data();
  self.locked(
      [&](array_learner& learner)
      {
        for (size_t i = 0; i < events.contexts.rows(); ++i)
        {
          learner.learn(
              events.contexts, events.actions, i, static_cast<uint32_t>(action[i]), cost[i], probability[i], weight[i]);
        }
      });
}

// The whole bandit loop on full-information data, in the given order of the rows, with a learner that nobody else
// knows: what it has learned is left in it.
py::tuple simulate(shared_learner& self, const py::tuple& contexts, const optional_rows& actions,
    const optional_indices& first, const floats& all_costs, const indices& order)
{
  const event_arrays events(contexts, actions, first);
  const auto count = static_cast<size_t>(order.size());
  indices played_actions(static_cast<py::ssize_t>(count));
  floats probabilities(static_cast<py::ssize_t>(count));
  floats costs(static_cast<py::ssize_t>(count));
  auto* action = played_actions.mutable_data();
  auto* probability = probabilities.mutable_data();
  auto* cost = costs.mutable_data();
  const auto* row_of = order.data();
  const auto* cost_of = all_costs.data();
  constexpr size_t ROUNDS_INSIDE = 1000;  // a fork that waits for the lock is let in between
  {
    const py::gil_scoped_release release;
    for (size_t begin = 0; begin < count; begin += ROUNDS_INSIDE)
    {
      self.locked_without_interpreter(
          [&](array_learner& learner)
          {
            for (size_t i = begin; i < std::min(count, begin + ROUNDS_INSIDE); ++i)
            {
              const auto row = static_cast<size_t>(row_of[i]);
              const auto played = learner.play(events.contexts, events.actions, row, self.draws.next(),
                  cost_of + events.begin(row, self.fixed_actions));
              action[i] = played.action;
              probability[i] = played.probability;
              cost[i] = played.cost;
            }
          });
    }
  }
  return py::make_tuple(played_actions, probabilities, costs);
}

bool finite(const py::tuple& rows)
{
  const auto features = rows_of(rows);
  const py::gil_scoped_release release;
  return features.finite();
}
}  // namespace

void register_learner(py::module_& module)
{
  using py::arg;
  const auto none = py::none();
  py::class_<shared_learner, std::shared_ptr<shared_learner>>(module, "ArrayLearner")
      .def(py::init<const std::vector<std::string>&, double, double, uint64_t>(), arg("arguments"), arg("offset") = 0.,
          arg("slope") = 1., arg("draws") = 0)
      .def_readonly("fixed_actions", &shared_learner::fixed_actions)
      .def_readonly("scores_before_learning", &shared_learner::scores_before_learning)
      .def_property(
          "draws", [](shared_learner& self) { return self.locked([&](array_learner&) { return self.draws.state(); }); },
          [](shared_learner& self, uint64_t state)
          { self.locked([&](array_learner&) { self.draws = random_draws(state); }); })
      .def_property_readonly(
          "events", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.events(); }); })
      .def_property_readonly(
          "bits", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.bits(); }); })
      .def("kept_flags",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.kept_flags(); }); })
      .def("hashes_of", &hashes_of, arg("name_space"), arg("names"))
      .def("places_of", &places_of, arg("name_space"), arg("names"))
      .def("place_rows", &place_rows_of, arg("values"), arg("hashes"), arg("offsets"))
      .def("place_dicts", &place_dicts, arg("name_space"), arg("dicts"))
      .def("use_columns", &use_columns, arg("name_space"), arg("columns"))
      .def("decide", &decide, arg("context"), arg("actions"), arg("draw"))
      .def("learn_one", &learn_one, arg("context"), arg("actions"), arg("action"), arg("cost"), arg("probability"),
          arg("weight"))
      .def("predict", &predict, arg("contexts"), arg("actions") = none, arg("first") = none)
      .def("draw_actions", &draw_actions, arg("pmf"), arg("first"), arg("draw") = none)
      .def("learn", &learn, arg("contexts"), arg("actions"), arg("first"), arg("chosen"), arg("costs"),
          arg("probabilities"), arg("weights"))
      .def("simulate", &simulate, arg("contexts"), arg("actions"), arg("first"), arg("costs"), arg("order"))
      .def(
          "save", [](shared_learner& self, const std::string& path)
          { self.locked([&](array_learner& l) { l.save(path); }); }, arg("path"))
      .def("workspace",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.shared_workspace(); }); });
  module.def("all_finite", &finite, arg("rows"));
}
}  // namespace vw_fastcb

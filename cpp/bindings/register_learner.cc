#include "learner/more_actions.h"
#include "register.h"
#include "shared_learner.h"

#include "vw/core/global_data.h"

#include <pybind11/stl.h>

#include <map>
#include <optional>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
using bytes_array = py::array_t<uint8_t, py::array::c_style>;
using optional_draw = std::optional<double>;

// One byte for each action, 1 for those that are excluded; empty where none is.
std::vector<uint8_t> mask_of(const std::optional<std::vector<int64_t>>& excluded, size_t count)
{
  if (!excluded || excluded->empty()) { return {}; }
  std::vector<uint8_t> mask(count, 0);
  size_t left = count;
  for (const auto action : *excluded)
  {
    if (action < 0 || static_cast<size_t>(action) >= count)
    {
      throw py::value_error("exclude has the action " + std::to_string(action) + "; expected actions from 0 to " +
                            std::to_string(count - 1) + ".");
    }
    left -= mask[static_cast<size_t>(action)] == 0 ? 1 : 0;
    mask[static_cast<size_t>(action)] = 1;
  }
  if (left == 0) { throw py::value_error("exclude leaves no action; expected at least one that may be drawn."); }
  return mask;
}

// The features of all actions of an event, of which there must be one; nothing where actions are fixed.
std::optional<encoded_rows> actions_of_event(const shared_learner& self, const py::handle& actions)
{
  if (self.fixed_actions > 0) { return std::nullopt; }
  auto features = self.actions.all(actions);
  if (features.features.rows() == 0)
  {
    throw py::value_error("action features have no row; expected (A, d) with A at least 1.");
  }
  return features;
}

// Reads what a decision reads, with all its checks, and remembers what `decide` remembers of it: its columns and kinds.
// With `alone`, the features are those of one action. Where anything is refused, nothing is remembered.
void remember_one(shared_learner& self, const py::handle& context, const py::handle& actions, bool alone)
{
  const auto row = self.contexts.one(context);
  const auto features =
      alone && self.fixed_actions == 0 ? std::optional(self.actions.one(actions)) : actions_of_event(self, actions);
  self.remember(row, features ? &*features : nullptr);
}

// One decision in one call: action, probability, pmf, predictions, gamma, and copies of the context and of the chosen
// action's features; of all actions' where learning reads them all. Unless it is to `remember` their columns and kinds,
// the decision leaves no trace.
py::tuple decide(shared_learner& self, const py::handle& context, const py::handle& actions,
    const std::optional<std::vector<int64_t>>& excluded, const optional_draw& draw, bool remember)
{
  const auto row = self.contexts.one(context);
  const auto features = actions_of_event(self, actions);
  event_arrays events(row.features);
  if (features) { events.actions.features = features->features; }
  const auto count = self.fixed_actions > 0 ? self.fixed_actions : events.actions.features.rows();
  const auto mask = mask_of(excluded, count);
  double_array pmf(static_cast<py::ssize_t>(count));
  double_array predictions(static_cast<py::ssize_t>(count));
  double* const p = pmf.mutable_data();
  double* const y = predictions.mutable_data();
  size_t action = 0;
  const double gamma = self.locked_for_event(events, count,
      [&](array_learner& learner)
      {
        self.predict(events, 0, p, y, mask.empty() ? nullptr : mask.data());
        action = pick(p, count, draw ? *draw : self.next_draw());
        return learner.gamma();
      });
  freeze(pmf);
  freeze(predictions);
  if (remember) { self.remember(row, features ? &*features : nullptr); }
  py::object kept = py::none();
  if (features) { kept = self.reads_all_actions ? features->all_kept() : features->kept(action); }
  return py::make_tuple(action, p[action], pmf, predictions, gamma, row.kept(0), kept);
}

// What the logits of an event are made of: a list of terms (name, value, weights, contributions), for all fixed actions
// or for each action. Nothing is remembered of it.
std::vector<std::vector<py::tuple>> explain(shared_learner& self, const py::handle& context, const py::handle& actions)
{
  const auto row = self.contexts.one(context);
  const auto features = actions_of_event(self, actions);
  event_arrays events(row.features);
  if (features) { events.actions.features = features->features; }
  const auto explained =
      self.locked([&](array_learner& learner) { return learner.explain(events.contexts, events.actions, 0); });
  std::vector<std::vector<py::tuple>> terms(explained.size());
  for (size_t a = 0; a < explained.size(); ++a)
  {
    for (const auto& term : explained[a])
    {
      terms[a].push_back(py::make_tuple(term.name, term.value, term.weights, term.contributions));
    }
  }
  return terms;
}

// Learns from one event. `actions` are the features of all its actions, of which the chosen one is read, or with
// `alone` those of the chosen one.
void learn_one(shared_learner& self, const py::handle& context, const py::handle& actions, int64_t action, float cost,
    float weight, bool alone)
{
  const auto row = self.contexts.one(context);
  std::optional<encoded_rows> features;
  event_arrays events(row.features);
  auto place = static_cast<uint32_t>(action);
  if (self.fixed_actions == 0)
  {
    if (alone) { features = self.actions.one(actions); }
    else if (self.reads_all_actions) { features = self.actions.all(actions); }
    else { features = self.actions.row_of(actions, action); }
    events.actions.features = features->features;
    if (alone || !self.reads_all_actions) { place = 0; }
    row_reader::check_action(place, features->features.rows());
  }
  const auto count = self.fixed_actions > 0 ? 1 : events.actions.features.rows();
  self.locked_for_event(events, count,
      [&](array_learner& learner) { learner.learn(events.contexts, events.actions, 0, place, cost, weight); });
  self.remember(row, features ? &*features : nullptr);
}

// Of all events, one after another. `excluded` has a byte for each action of each event.
py::tuple predict(shared_learner& self, const encoded_rows& contexts, const encoded_rows* actions,
    const std::optional<indices>& first, const std::optional<bytes_array>& excluded)
{
  const event_arrays events(contexts, actions, first);
  const auto count = events.contexts.rows();
  const auto total = static_cast<py::ssize_t>(count == 0 ? 0 : events.begin(count, self.fixed_actions));
  double_array pmf(total);
  double_array predictions(total);
  double* const p = pmf.mutable_data();
  double* const y = predictions.mutable_data();
  const uint8_t* const mask = excluded ? excluded->data() : nullptr;
  const double gamma = self.locked(
      [&](array_learner& learner)
      {
        for (size_t i = 0; i < count; ++i)
        {
          const auto at = events.begin(i, self.fixed_actions);
          self.predict(events, i, p + at, y + at, mask != nullptr ? mask + at : nullptr);
        }
        return learner.gamma();
      });
  return py::make_tuple(pmf, predictions, gamma);
}

// Draws one action for each event, whose probabilities begin at first[i]; with the learner's own draws unless they are
// given.
py::tuple draw_actions(
    shared_learner& self, const double_array& pmf, const indices& first, const std::optional<double_array>& draws)
{
  const auto count = static_cast<size_t>(first.size()) - 1;
  indices actions(static_cast<py::ssize_t>(count));
  double_array probabilities(static_cast<py::ssize_t>(count));
  auto* action = actions.mutable_data();
  auto* probability = probabilities.mutable_data();
  const auto* p = pmf.data();
  const auto* begin = first.data();
  const auto* given = draws ? draws->data() : nullptr;
  self.locked(
      [&](array_learner&)
      {
        for (size_t i = 0; i < count; ++i)
        {
          const double draw = given != nullptr ? given[i] : self.next_draw();
          const auto picked = pick(p + begin[i], static_cast<size_t>(begin[i + 1] - begin[i]), draw);
          action[i] = static_cast<int64_t>(picked);
          probability[i] = p[begin[i] + static_cast<int64_t>(picked)];
        }
      });
  return py::make_tuple(actions, probabilities);
}

void learn(shared_learner& self, const encoded_rows& contexts, const encoded_rows* actions,
    const std::optional<indices>& first, const indices& chosen, const floats& costs, const floats& weights)
{
  const event_arrays events(contexts, actions, first);
  const auto* action = chosen.data();
  const auto* cost = costs.data();
  const auto* weight = weights.data();
  self.locked(
      [&](array_learner& learner)
      {
        const auto count = events.contexts.rows();
        for (size_t i = 0; i < count; ++i) { learner.check_products(events.contexts, events.actions, i); }
        for (size_t i = 0; i < count; ++i)
        {
          learner.learn(events.contexts, events.actions, i, static_cast<uint32_t>(action[i]), cost[i], weight[i]);
        }
      });
  self.remember(contexts, actions);  // here, where no Ctrl-C can come in between
}

constexpr size_t ROUNDS_INSIDE = 1000;  // a fork that waits for the lock is let in between

// The whole bandit loop on full-information data, in the given order of the rows, with a learner that nobody else
// knows: what it has learned is left in it.
py::tuple simulate(shared_learner& self, const encoded_rows& contexts, const encoded_rows* actions,
    const std::optional<indices>& first, const floats& all_costs, const indices& order)
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
              const auto played = learner.play(events.contexts, events.actions, row, self.next_draw(),
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

// Progressive validation on logged events, in the order of their rows: each is judged, and then learned if its action's
// probability is above its threshold. The learner is one that nobody else knows, as in a simulation.
py::tuple validate(shared_learner& self, const encoded_rows& contexts, const encoded_rows* actions,
    const std::optional<indices>& first, const indices& chosen, const floats& costs, const floats& weights,
    const double_array& thresholds, const std::optional<bytes_array>& excluded)
{
  const event_arrays events(contexts, actions, first);
  const auto count = events.contexts.rows();
  double_array probabilities(static_cast<py::ssize_t>(count));
  double_array predictions(static_cast<py::ssize_t>(count));
  double_array means(static_cast<py::ssize_t>(count));
  auto* probability = probabilities.mutable_data();
  auto* prediction = predictions.mutable_data();
  auto* mean = means.mutable_data();
  const auto* action = chosen.data();
  const auto* cost = costs.data();
  const auto* weight = weights.data();
  const auto* threshold = thresholds.data();
  const uint8_t* const mask = excluded ? excluded->data() : nullptr;
  {
    const py::gil_scoped_release release;
    for (size_t begin = 0; begin < count; begin += ROUNDS_INSIDE)
    {
      self.locked_without_interpreter(
          [&](array_learner& learner)
          {
            for (size_t i = begin; i < std::min(count, begin + ROUNDS_INSIDE); ++i)
            {
              const auto judged =
                  learner.judge(events.contexts, events.actions, i, static_cast<uint32_t>(action[i]), cost[i],
                      weight[i], threshold[i], mask != nullptr ? mask + events.begin(i, self.fixed_actions) : nullptr);
              probability[i] = judged.probability;
              prediction[i] = self.in_user_terms(judged.prediction);
              mean[i] = self.in_user_terms(judged.mean_prediction);
            }
          });
    }
  }
  return py::make_tuple(probabilities, predictions, means);
}

void register_rows(py::module_& module)
{
  using py::arg;
  py::class_<encoded_rows>(module, "Rows")
      .def("__len__", [](const encoded_rows& self) { return self.features.rows(); })
      .def("kept", &encoded_rows::kept, arg("row"));
  py::class_<row_reader>(module, "RowReader")
      .def("all", &row_reader::all, arg("given"))
      .def_property_readonly("columns", &row_reader::columns)
      .def_property_readonly("kinds", &row_reader::kinds)
      .def("set_columns", &row_reader::set_columns, arg("columns"), arg("kinds"))
      .def("place_of", &row_reader::place_of, arg("name"));
}
}  // namespace

// Long because it names what Python may call, one function after another.
void register_learner(py::module_& module)
{
  using py::arg;
  register_rows(module);
  const auto none = py::none();
  const auto inside = py::return_value_policy::reference_internal;
  py::class_<shared_learner, std::shared_ptr<shared_learner>>(module, "ArrayLearner")
      .def(py::init<const std::vector<std::string>&, const std::optional<py::bytes>&>(), arg("arguments"),
          arg("model") = none)
      .def("use_as", &shared_learner::use_as, arg("offset"), arg("slope"), arg("draws"), arg("marks_missing"))
      .def_property_readonly(
          "contexts", [](shared_learner& self) -> row_reader& { return self.contexts; }, inside)
      .def_property_readonly(
          "actions", [](shared_learner& self) -> row_reader& { return self.actions; }, inside)
      .def_readonly("fixed_actions", &shared_learner::fixed_actions)
      .def_readonly("reads_all_actions", &shared_learner::reads_all_actions)
      .def_property(
          "draws",
          [](shared_learner& self) -> std::optional<uint64_t>
          {
            return self.locked([&](array_learner&)
                { return self.repeatable() ? std::optional<uint64_t>(self.draws().state()) : std::nullopt; });
          },
          [](shared_learner& self, uint64_t state) { self.locked([&](array_learner&) { self.repeat_from(state); }); })
      .def_property_readonly(
          "events", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.events(); }); })
      .def_property_readonly("members",
          [](shared_learner& self)
          {
            std::map<std::string, double> weights;
            self.locked(
                [&](array_learner& l)
                {
                  for (const auto& member : l.members()) { weights[member.name] = member.weight; }
                });
            return weights;
          })
      .def_property_readonly(
          "bits", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.bits(); }); })
      .def_property(
          "arithmetic",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.arithmetic(); }); },
          [](shared_learner& self, uint64_t arithmetic)
          { self.locked([&](array_learner& l) { l.use_arithmetic(arithmetic); }); })
      .def_property(
          "note", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.note(); }); },
          [](shared_learner& self, const std::string& note)
          { self.locked([&](array_learner& l) { l.set_note(note); }); })
      .def("bits_for", &shared_learner::bits_for, arg("context_columns"), arg("action_columns"))
      .def("kept_flags",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.kept_flags(); }); })
      .def("remember", &shared_learner::remember, arg("contexts"), arg("actions").none(true))
      .def("remember_one", &remember_one, arg("context"), arg("actions"), arg("alone") = false)
      .def("decide", &decide, arg("context"), arg("actions"), arg("excluded"), arg("draw"), arg("remember") = true)
      .def("explain", &explain, arg("context"), arg("actions"))
      .def("learn_one", &learn_one, arg("context"), arg("actions"), arg("action"), arg("cost"), arg("weight"),
          arg("alone"))
      .def("predict", &predict, arg("contexts"), arg("actions").none(true), arg("first"), arg("excluded") = none)
      .def("draw_actions", &draw_actions, arg("pmf"), arg("first"), arg("draws") = none)
      .def("learn", &learn, arg("contexts"), arg("actions").none(true), arg("first"), arg("chosen"), arg("costs"),
          arg("weights"))
      .def("simulate", &simulate, arg("contexts"), arg("actions").none(true), arg("first"), arg("costs"), arg("order"))
      .def("validate", &validate, arg("contexts"), arg("actions").none(true), arg("first"), arg("chosen"), arg("costs"),
          arg("weights"), arg("thresholds"), arg("excluded") = none)
      .def(
          "save", [](shared_learner& self, const std::string& path)
          { self.locked([&](array_learner& l) { l.save(path); }); }, arg("path"))
      .def("model",
          [](shared_learner& self)
          {
            const auto bytes = self.locked([](array_learner& l) { return l.model(); });
            return py::bytes(bytes.data(), bytes.size());
          })
      .def("workspace",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.shared_workspace(); }); });
  module.def(
      "with_more_actions",
      [](const py::bytes& model, uint32_t actions, const std::string& note)
      {
        const std::string_view given(model);
        std::vector<char> bytes;
        {
          const py::gil_scoped_release release;
          bytes = with_more_actions(given, actions, note);
        }
        return py::bytes(bytes.data(), bytes.size());
      },
      arg("model"), arg("actions"), arg("note"));
}
}  // namespace vw_fastcb

#include "learner/array_learner.h"
#include "register.h"

#include "vw/common/vw_exception.h"
#include "vw/core/global_data.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <mutex>
#include <optional>
#include <random>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
using indices = py::array_t<int64_t, py::array::c_style>;
using columns = py::array_t<uint64_t, py::array::c_style>;
using floats = py::array_t<float, py::array::c_style>;
using doubles = py::array_t<double>;

// A dense matrix is a 2-D array of float32 or float64, a sparse one a tuple (values, column indices, row offsets,
// width). vw_fastcb.learner checks what users give; here only types are told apart. The caller keeps the arrays alive.
feature_rows rows_of(const py::object& matrix)
{
  const bool sparse = py::isinstance<py::tuple>(matrix);
  const auto values = (sparse ? matrix.cast<py::tuple>()[0].cast<py::array>() : matrix.cast<py::array>());
  const bool is_double = py::isinstance<py::array_t<double>>(values);
  if (!is_double && !py::isinstance<py::array_t<float>>(values)) { THROW("expected an array of float32 or float64"); }
  if (sparse)
  {
    const auto parts = matrix.cast<py::tuple>();
    const auto column_of = parts[1].cast<indices>();
    const auto offsets = parts[2].cast<indices>();
    return feature_rows::sparse(values.data(), is_double, static_cast<size_t>(offsets.size()) - 1,
        parts[3].cast<size_t>(), offsets.data(), column_of.data());
  }
  return feature_rows::dense(values.data(), is_double, static_cast<size_t>(values.shape(0)),
      static_cast<size_t>(values.shape(1)), values.strides(0), values.strides(1));
}

// The events of a call: contexts, and where actions have features, those and the first of each event.
struct event_arrays
{
  named_rows contexts;
  action_sets actions;
  size_t count;

  event_arrays(const py::object& context_rows, const columns& context_columns, const py::object& action_rows,
      const std::optional<columns>& action_columns, const std::optional<indices>& first)
      : contexts{rows_of(context_rows), context_columns.data()}
      , count(contexts.rows.rows())
  {
    if (!first) { return; }
    actions.features = {rows_of(action_rows), action_columns->data()};
    actions.first = first->data();
  }

  // Where the actions of an event begin in arrays that hold those of all events one after another.
  size_t begin(size_t event, uint32_t fixed_actions) const
  {
    return fixed_actions > 0 ? event * fixed_actions : static_cast<size_t>(actions.first[event]);
  }
  size_t total(uint32_t fixed_actions) const { return count == 0 ? 0 : begin(count, fixed_actions); }
};

// An array_learner for many threads: one at a time is inside, none of them holds the interpreter.
class shared_learner
{
public:
  explicit shared_learner(const std::vector<std::string>& arguments) : _learner(arguments) {}

  template <typename Work>
  auto locked(Work work)
  {
    py::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(_mutex);
    return work(_learner);
  }

private:
  array_learner _learner;
  std::mutex _mutex;
};

columns indices_of(shared_learner& self, char name_space, const std::vector<std::string>& names)
{
  columns result(static_cast<py::ssize_t>(names.size()));
  auto* out = result.mutable_data();
  self.locked(
      [&](array_learner& learner)
      {
        for (const auto& name : names) { *out++ = learner.index_of(name_space, name); }
      });
  return result;
}

py::tuple predict(shared_learner& self, const py::object& context_rows, const columns& context_columns,
    const py::object& action_rows, const std::optional<columns>& action_columns, const std::optional<indices>& first)
{
  const event_arrays events(context_rows, context_columns, action_rows, action_columns, first);
  const auto fixed = self.locked([](array_learner& learner) { return learner.fixed_actions(); });
  doubles pmf(static_cast<py::ssize_t>(events.total(fixed)));
  doubles predictions(static_cast<py::ssize_t>(events.total(fixed)));
  double* const p = pmf.mutable_data();
  double* const y = predictions.mutable_data();
  const double gamma = self.locked(
      [&](array_learner& learner)
      {
        for (size_t i = 0; i < events.count; ++i)
        {
          const auto at = events.begin(i, fixed);
          learner.predict(events.contexts, events.actions, i, p + at, y + at);
        }
        return learner.gamma();
      });
  return py::make_tuple(pmf, predictions, gamma);
}

void learn(shared_learner& self, const py::object& context_rows, const columns& context_columns,
    const py::object& action_rows, const std::optional<columns>& action_columns, const std::optional<indices>& first,
    const indices& chosen, const floats& costs, const floats& probabilities, const floats& weights)
{
  const event_arrays events(context_rows, context_columns, action_rows, action_columns, first);
  const auto* action = chosen.data();
  const auto* cost = costs.data();
  const auto* probability = probabilities.data();
  const auto* weight = weights.data();
  self.locked(
      [&](array_learner& learner)
      {
        for (size_t i = 0; i < events.count; ++i)
        {
          learner.learn(
              events.contexts, events.actions, i, static_cast<uint32_t>(action[i]), cost[i], probability[i], weight[i]);
        }
      });
}

// The whole bandit loop on full-information data, in the given order of the rows.
py::tuple simulate(shared_learner& self, const py::object& context_rows, const columns& context_columns,
    const py::object& action_rows, const std::optional<columns>& action_columns, const std::optional<indices>& first,
    const floats& all_costs, const indices& order, uint64_t seed)
{
  const event_arrays events(context_rows, context_columns, action_rows, action_columns, first);
  const auto count = static_cast<size_t>(order.size());
  indices actions(static_cast<py::ssize_t>(count));
  floats probabilities(static_cast<py::ssize_t>(count));
  floats costs(static_cast<py::ssize_t>(count));
  auto* action = actions.mutable_data();
  auto* probability = probabilities.mutable_data();
  auto* cost = costs.mutable_data();
  const auto* row_of = order.data();
  const auto* cost_of = all_costs.data();
  self.locked(
      [&](array_learner& learner)
      {
        std::mt19937_64 generator(seed);
        const auto fixed = learner.fixed_actions();
        for (size_t i = 0; i < count; ++i)
        {
          const auto row = static_cast<size_t>(row_of[i]);
          const double draw = static_cast<double>(generator() >> 11) * 0x1p-53;  // 53 random bits in [0,1)
          const auto played =
              learner.play(events.contexts, events.actions, row, draw, cost_of + events.begin(row, fixed));
          action[i] = played.action;
          probability[i] = played.probability;
          cost[i] = played.cost;
        }
      });
  return py::make_tuple(actions, probabilities, costs);
}
}  // namespace

void register_learner(py::module_& module)
{
  using py::arg;
  const auto contexts = [] { return arg("contexts"); };
  py::class_<shared_learner, std::shared_ptr<shared_learner>>(module, "ArrayLearner")
      .def(py::init<const std::vector<std::string>&>(), arg("arguments"))
      .def_property_readonly("fixed_actions", [](shared_learner& self)
          { return self.locked([](array_learner& learner) { return learner.fixed_actions(); }); })
      .def_property_readonly(
          "events", [](shared_learner& self) { return self.locked([](array_learner& l) { return l.events(); }); })
      .def("kept_flags",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.kept_flags(); }); })
      .def("indices_of", &indices_of, arg("name_space"), arg("names"))
      .def("predict", &predict, contexts(), arg("context_columns"), arg("actions") = py::none(),
          arg("action_columns") = py::none(), arg("first") = py::none())
      .def("learn", &learn, contexts(), arg("context_columns"), arg("actions"), arg("action_columns"), arg("first"),
          arg("chosen"), arg("costs"), arg("probabilities"), arg("weights"))
      .def("simulate", &simulate, contexts(), arg("context_columns"), arg("actions"), arg("action_columns"),
          arg("first"), arg("costs"), arg("order"), arg("seed"))
      .def(
          "save", [](shared_learner& self, const std::string& path)
          { self.locked([&](array_learner& l) { l.save(path); }); }, arg("path"))
      .def("workspace",
          [](shared_learner& self) { return self.locked([](array_learner& l) { return l.shared_workspace(); }); });
}
}  // namespace vw_fastcb

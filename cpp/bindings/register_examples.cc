#include "register.h"
#include "strict/event_reader.h"

#include "vw/common/vw_exception.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
using workspace_ptr = std::shared_ptr<VW::workspace>;
using example_ptr = std::shared_ptr<VW::example>;

// Text, JSON or whatever the workspace reads, to examples that belong to the workspace's pool.
py::list parse_examples(const workspace_ptr& all, const std::string& text)
{
  auto& parser = *all->parser_runtime.example_parser;
  const auto lines_before = parser.in_pass_counter;
  VW::multi_ex examples{&VW::get_unused_example(all.get())};
  try
  {
    parser.text_reader(all.get(), VW::string_view(text), examples);
    for (auto* example : examples) { VW::setup_example(*all, example); }
  }
  catch (...)
  {
    parser.in_pass_counter = lines_before;
    give_back(*all, examples);
    throw;
  }
  py::list handles;
  for (auto* example : examples)
  {
    handles.append(example_ptr(example, [](VW::example*) {}));  // the pool owns it
  }
  return handles;
}

// Learns one event as the command line does. What VW predicted for its actions before that is appended in their order.
void learn_line(VW::workspace& all, VW::string_view line, std::vector<double>& predictions)
{
  VW::multi_ex examples{&VW::get_unused_example(&all)};
  try
  {
    all.parser_runtime.example_parser->text_reader(&all, line, examples);
    for (auto* example : examples) { VW::setup_example(all, example); }
    if (all.l->is_multiline()) { all.learn(examples); }
    else { all.learn(*examples[0]); }
  }
  catch (...)
  {
    give_back(all, examples);
    throw;
  }
  const auto& scores = examples[0]->pred.a_s;
  const auto first = predictions.size();
  predictions.resize(first + scores.size());
  for (const auto& score : scores)
  {
    if (score.action < scores.size()) { predictions[first + score.action] = score.score; }
  }
  if (all.l->is_multiline()) { VW::finish_example(all, examples); }
  else { VW::finish_example(all, *examples[0]); }
}

// Many events, each on a line of its own. The interpreter goes on meanwhile.
py::array_t<double> learn_lines(const workspace_ptr& all, const py::bytes& text)
{
  using VW::prediction_type_t;
  const auto kind = all->l->get_output_prediction_type();
  if (kind != prediction_type_t::ACTION_PROBS && kind != prediction_type_t::ACTION_SCORES)
  {
    THROW("these flags give no number for each action. Use --cb_explore_adf or --cb_explore.");
  }
  const std::string_view lines = text;
  std::vector<double> predictions;
  {
    const py::gil_scoped_release unlocked;
    for (size_t start = 0; start < lines.size();)
    {
      const auto end = std::min(lines.find('\n', start), lines.size());
      learn_line(*all, VW::string_view(lines.data() + start, end - start), predictions);
      start = end + 1;
    }
  }
  return py::array_t<double>(static_cast<py::ssize_t>(predictions.size()), predictions.data());
}

// Gives examples back to the pool without a word to the learner.
void release_examples(const workspace_ptr& all, const py::list& examples)
{
  for (const auto& handle : examples) { give_back(*all, {handle.cast<example_ptr>().get()}); }
}
}  // namespace

// The types are registered by pylibvw, the other module of this extension.
void register_examples(py::module_& module)
{
  module.def("parse_examples", &parse_examples, py::arg("workspace"), py::arg("text"));
  module.def("learn_lines", &learn_lines, py::arg("workspace"), py::arg("text"));
  module.def("release_examples", &release_examples, py::arg("workspace"), py::arg("examples"));
}
}  // namespace vw_fastcb

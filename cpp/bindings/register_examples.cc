#include "reading/event_reader.h"
#include "register.h"

#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"

#include <memory>
#include <string>

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
  module.def("release_examples", &release_examples, py::arg("workspace"), py::arg("examples"));
}
}  // namespace vw_fastcb

#include "register.h"

#include "vw/common/vw_exception.h"
#include "vw/config/options.h"
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

void release(VW::workspace& all, const VW::multi_ex& examples)
{
  for (auto* example : examples) { VW::finish_example(all, *example); }
}

// VW skips a line that is not a JSON object, without a word.
void require_json_object(const VW::workspace& all, const std::string& text)
{
  const bool reads_json = all.options->was_supplied("json") || all.options->was_supplied("dsjson");
  if (!reads_json || !all.options->was_supplied("fastcb")) { return; }
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] == '{') { return; }
  THROW("bad event: expected a JSON object, got '" << text.substr(first, 40) << "'.");
}

// Text, JSON or whatever the workspace reads, to examples that belong to the workspace's pool.
py::list parse_examples(const workspace_ptr& all, const std::string& text)
{
  require_json_object(*all, text);
  VW::multi_ex examples{&VW::get_unused_example(all.get())};
  try
  {
    all->parser_runtime.example_parser->text_reader(all.get(), VW::string_view(text), examples);
    for (auto* example : examples) { VW::setup_example(*all, example); }
  }
  catch (...)
  {
    release(*all, examples);
    throw;
  }
  py::list handles;
  for (auto* example : examples)
  {
    handles.append(example_ptr(example, [](VW::example*) {}));  // the pool owns it
  }
  return handles;
}

// Gives examples back to the pool without a word to the learner: for events it refused.
void release_examples(const workspace_ptr& all, const py::list& examples)
{
  for (const auto& handle : examples) { VW::finish_example(*all, *handle.cast<example_ptr>()); }
}
}  // namespace

// The types are registered by pylibvw, the other module of this extension.
void register_examples(py::module_& module)
{
  module.def("parse_examples", &parse_examples, py::arg("workspace"), py::arg("text"));
  module.def("release_examples", &release_examples, py::arg("workspace"), py::arg("examples"));
}
}  // namespace vw_fastcb

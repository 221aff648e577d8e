#include "cli/run.h"
#include "reading/c_locale.h"
#include "register.h"

#include <pybind11/stl.h>

#include <optional>

namespace vw_fastcb
{
namespace
{
// For `with`: VW reads the numbers of flags as the process's locale writes them.
class c_locale_block
{
public:
  void enter() { _locale.emplace(); }
  void exit(const pybind11::args&) { _locale.reset(); }

private:
  std::optional<c_locale> _locale;
};
}  // namespace

void register_cli(pybind11::module_& module)
{
  pybind11::class_<c_locale_block>(module, "CLocale")
      .def(pybind11::init<>())
      .def("__enter__", &c_locale_block::enter)
      .def("__exit__", &c_locale_block::exit);
  module.def("run_command_line", &run_command_line, pybind11::arg("arguments"),
      pybind11::call_guard<pybind11::gil_scoped_release>());
}
}  // namespace vw_fastcb

#include "cli/run.h"
#include "register.h"

#include <pybind11/stl.h>

namespace vw_fastcb
{
void register_cli(pybind11::module_& module)
{
  module.def("run_command_line", &run_command_line, pybind11::arg("arguments"),
      pybind11::call_guard<pybind11::gil_scoped_release>());
}
}  // namespace vw_fastcb

#include "oracle/registry.h"
#include "reduction/model_state.h"
#include "register.h"

#include <pybind11/stl.h>

#include "fmt/format.h"

#include <string>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
// The shortest number that is the same in single precision: .4f is 0.4, and not 0.4000000059604645.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }
}  // namespace

void register_oracles(py::module_& module)
{
  py::class_<oracle_kind>(module, "OracleKind")
      .def_property_readonly("name", [](const oracle_kind& kind) { return kind.name; })
      .def_property_readonly("gamma_scale", [](const oracle_kind& kind) { return shortest(kind.gamma_scale); })
      .def_property_readonly("gamma_exponent", [](const oracle_kind& kind) { return shortest(kind.gamma_exponent); })
      .def_readonly("replaces_gd", &oracle_kind::replaces_gd)
      .def_readonly("has_capacity", &oracle_kind::has_capacity)
      .def_readonly("knows_weights", &oracle_kind::knows_weights)
      .def_readonly("has_deviations", &oracle_kind::has_deviations)
      .def_readonly("can_merge", &oracle_kind::can_merge);
  module.attr("ARITHMETIC") = ARITHMETIC;
  module.def("oracles", [] { return oracle_kinds(); });
}
}  // namespace vw_fastcb

#include "bakeoff/multiclass_pass.h"
#include "numpy_rows.h"
#include "register.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
py::array_t<uint8_t> multiclass_pass(const std::vector<std::string>& arguments, const py::tuple& features,
    const indices& labels, const indices& order, uint32_t classes, bool every_label)
{
  const multiclass_rows data{rows_of(features), labels.data(), order.data(), static_cast<size_t>(order.size())};
  py::array_t<uint8_t> losses(order.size());
  auto* const out = losses.mutable_data();
  const auto heard = every_label ? feedback::EVERY_LABEL : feedback::AS_FLAGS_SAY;
  {
    const py::gil_scoped_release release;
    run_multiclass_pass(arguments, data, classes, heard, out);
  }
  return losses;
}
}  // namespace

void register_bakeoff(py::module_& module)
{
  using py::arg;
  module.def("multiclass_pass", &multiclass_pass, arg("arguments"), arg("features"), arg("labels"), arg("order"),
      arg("classes"), arg("every_label") = false);
}
}  // namespace vw_fastcb

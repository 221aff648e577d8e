// The extension vw_fastcb._bakeoff: the engine of the bake-off's passes. The product's wheel does not hold it, and
// vw_fastcb.bakeoff does without where it is not built.
#include "bindings/numpy_rows.h"
#include "bindings/register.h"
#include "multiclass_pass.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
// The data, told apart by length: a dense matrix is (array, places of the columns), a sparse one (values,
// column of each, offsets, places of the columns). The caller keeps the arrays alive.
feature_rows rows_of(const py::tuple& parts)
{
  const auto values = py::reinterpret_borrow<py::array>(parts[0]);
  if (parts.size() == 2)
  {
    const auto places = py::reinterpret_borrow<columns>(parts[1]);
    return feature_rows::dense(values.data(), is_double(values), static_cast<size_t>(values.shape(0)),
        static_cast<size_t>(values.shape(1)), values.strides(0), values.strides(1), places.data());
  }
  const auto offsets = py::reinterpret_borrow<indices>(parts[2]);
  const auto rows = static_cast<size_t>(offsets.size()) - 1;
  const auto column_of = py::reinterpret_borrow<indices>(parts[1]);
  const auto places = py::reinterpret_borrow<columns>(parts[3]);
  return feature_rows::sparse(
      values.data(), is_double(values), rows, offsets.data(), by_table{column_of.data(), places.data()});
}

py::array_t<uint8_t> multiclass_pass(const std::vector<std::string>& arguments, const py::tuple& features,
    const indices& labels, const indices& order, uint32_t classes, bool every_label)
{
  const multiclass_rows data{rows_of(features), labels.data(), order.data(), static_cast<size_t>(order.size())};
  py::array_t<uint8_t> losses(order.size());
  auto* const out = losses.mutable_data();
  const auto shown = every_label ? feedback::EVERY_LABEL : feedback::AS_FLAGS_SAY;
  {
    const py::gil_scoped_release release;
    run_multiclass_pass(arguments, data, classes, shown, out);
  }
  return losses;
}
}  // namespace
}  // namespace vw_fastcb

PYBIND11_MODULE(_bakeoff, module)
{
  using py::arg;
  module.doc() = "The engine of the bake-off. Use vw_fastcb.bakeoff.";
  vw_fastcb::register_errors();
  module.def("multiclass_pass", &vw_fastcb::multiclass_pass, arg("arguments"), arg("features"), arg("labels"),
      arg("order"), arg("classes"), arg("every_label") = false);
}

#include "python_values.h"

#include <pybind11/gil_safe_call_once.h>

#include <cmath>
#include <cstring>

namespace vw_fastcb
{
const python_side& python()
{
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<python_side> found;
  return found
      .call_once_and_store_result(
          []
          {
            const auto rows = py::module_::import("vw_fastcb.learner.rows");
            return python_side{rows.attr("canonical"), rows.attr("check_columns"), rows.attr("refuse_value"),
                rows.attr("is_number"), rows.attr("Columns"), py::str("number"), py::str("text")};
          })
      .get_stored();
}

bool is_plain(const py::handle& given, int dimensions)
{
  auto& api = py::detail::npy_api::get();
  if (Py_TYPE(given.ptr()) != api.PyArray_Type_) { return false; }
  const auto* array = py::detail::array_proxy(given.ptr());
  if (array->nd != dimensions || (array->flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0) { return false; }
  static PyObject* const single = py::dtype::of<float>().release().ptr();
  static PyObject* const twice = py::dtype::of<double>().release().ptr();
  if (array->descr == single || array->descr == twice) { return true; }
  const auto type = py::reinterpret_borrow<py::array>(given).dtype();  // an equal one, as pickled arrays bring it
  return type.equal(py::dtype::of<float>()) || type.equal(py::dtype::of<double>());
}

std::string text_of(const py::handle& text, const char* what)
{
  py::ssize_t length = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (bytes == nullptr)
  {
    PyErr_Clear();
    throw py::value_error(std::string(what) + " " + py::repr(text).cast<std::string>() +
                          " has half of a surrogate pair, which is no text; expected valid Unicode.");
  }
  return {bytes, static_cast<size_t>(length)};
}

std::optional<double> number_of(const std::string& name, const py::handle& value, const std::string& where)
{
  PyObject* const object = value.ptr();
  const bool sure = PyFloat_Check(object) != 0 || PyLong_Check(object) != 0;
  if (!sure && std::strcmp(Py_TYPE(object)->tp_name, "NAType") == 0) { return std::nullopt; }  // pandas.NA
  if (!sure && !py::cast<bool>(python().is_number(value)))
  {
    throw py::type_error(where + "the feature '" + name + "' has the value " + py::repr(value).cast<std::string>() +
                         "; expected a number, a string, a boolean or None.");
  }
  const double number = PyFloat_AsDouble(object);
  const bool failed = number == -1. && PyErr_Occurred() != nullptr;
  if (failed) { PyErr_Clear(); }
  if (!failed && std::isnan(number)) { return std::nullopt; }
  if (failed || !std::isfinite(static_cast<float>(number)))
  {
    auto shown = failed ? std::string("a number of too many digits") : py::repr(value).cast<std::string>();
    throw py::value_error(where + "the feature '" + name + "' has the value " + shown +
                          ", which is infinite in float32; expected a finite number.");
  }
  return number;
}
}  // namespace vw_fastcb

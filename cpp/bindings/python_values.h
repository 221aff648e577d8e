// What readers of rows ask of Python: the values of features, and what they leave to vw_fastcb.learner.rows, which
// knows the packages that users bring.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>

namespace py = pybind11;

namespace vw_fastcb
{
struct python_side
{
  py::object canonical;      // anything else into a form that is read here, or an error
  py::object check_columns;  // raises where columns are others than before
  py::object refuse_value;   // raises: an array with values that are not finite
  py::object is_number;      // whether an object that is neither an int nor a float is a number
  py::object columns;        // the class of a frame's columns
  py::object number;         // the two kinds
  py::object text;
};

const python_side& python();

// A plain array: numpy's own type (no subclass), float32 or float64 as this machine has them.
bool is_plain(const py::handle& array, int dimensions);

std::string text_of(const py::handle& text, const char* what);

// A feature's value: a number, or nothing where it is missing.
std::optional<double> number_of(const std::string& name, const py::handle& value, const std::string& where);
}  // namespace vw_fastcb

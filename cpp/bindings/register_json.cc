// JSON of plain values, as the loop's journal keeps it. Python's own takes a third of the time of an event, most of it
// for the digits of numbers.
#include "register.h"

#include "fmt/format.h"

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
constexpr int DEEPEST = 200;

void write_text(std::string& out, PyObject* text)
{
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) { throw py::error_already_set(); }
  out += '"';
  for (const char c : std::string_view(bytes, static_cast<size_t>(size)))
  {
    if (c == '"' || c == '\\')
    {
      out += '\\';
      out += c;
    }
    else if (static_cast<unsigned char>(c) < 0x20) { fmt::format_to(std::back_inserter(out), "\\u{:04x}", c); }
    else { out += c; }
  }
  out += '"';
}

// The shortest digits that give the same number again, and a sign that it is no whole one.
void write_float(std::string& out, double value)
{
  if (!std::isfinite(value)) { throw py::value_error("a number is not finite; expected one that JSON can hold."); }
  const auto start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) { out += ".0"; }
}

void write_int(std::string& out, PyObject* number)
{
  int overflow = 0;
  const auto value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) { fmt::format_to(std::back_inserter(out), "{}", value); }
  else { out += py::str(py::handle(number)).cast<std::string>(); }
}

void write_value(std::string& out, PyObject* value, int depth);

void write_dict(std::string& out, PyObject* members, int depth)
{
  char before = '{';
  PyObject* name = nullptr;
  PyObject* member = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(members, &at, &name, &member) != 0; before = ',')
  {
    if (!PyUnicode_Check(name)) { throw py::type_error("a name is not text; JSON has no other names."); }
    out += before;
    write_text(out, name);
    out += ':';
    write_value(out, member, depth + 1);
  }
  out += before == '{' ? "{}" : "}";
}

void write_sequence(std::string& out, PyObject* entries, int depth)
{
  char before = '[';
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(entries); ++i, before = ',')
  {
    out += before;
    write_value(out, PySequence_Fast_GET_ITEM(entries, i), depth + 1);
  }
  out += before == '[' ? "[]" : "]";
}

void write_value(std::string& out, PyObject* value, int depth)
{
  if (depth > DEEPEST) { throw py::value_error("values are nested too deeply for JSON."); }
  if (PyUnicode_Check(value)) { write_text(out, value); }
  else if (PyFloat_Check(value)) { write_float(out, PyFloat_AS_DOUBLE(value)); }
  else if (value == Py_None) { out += "null"; }
  else if (PyBool_Check(value)) { out += value == Py_True ? "true" : "false"; }
  else if (PyLong_Check(value)) { write_int(out, value); }
  else if (PyDict_Check(value)) { write_dict(out, value, depth); }
  else if (PyList_Check(value) || PyTuple_Check(value)) { write_sequence(out, value, depth); }
  else { throw py::type_error(std::string("JSON has no values of the type ") + Py_TYPE(value)->tp_name + "."); }
}

py::str to_json(const py::handle& value)
{
  std::string out;
  out.reserve(1024);
  write_value(out, value.ptr(), 0);
  return py::str(out);
}
}  // namespace

void register_json(py::module_& module) { module.def("to_json", &to_json, py::arg("value")); }
}  // namespace vw_fastcb

#include "register.h"
#include "strict/vw_messages.h"

#include "vw/common/vw_exception.h"

namespace py = pybind11;

namespace vw_fastcb
{
// Messages quote what users wrote, which need not be UTF-8: pybind11 would then raise UnicodeDecodeError in their
// place.
void register_errors()
{
  py::register_exception_translator(
      [](std::exception_ptr thrown)
      {
        try
        {
          if (thrown) { std::rethrow_exception(thrown); }
        }
        catch (const VW::vw_exception& e)
        {
          const std::string text = explained(e.what());
          const auto message = py::reinterpret_steal<py::object>(
              PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
          PyErr_SetObject(PyExc_RuntimeError, message.ptr());
        }
      });
}
}  // namespace vw_fastcb

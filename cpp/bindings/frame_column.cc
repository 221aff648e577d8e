#include "frame_column.h"

#include "numpy_rows.h"
#include "python_values.h"

namespace vw_fastcb
{
frame_column read_column(const py::handle& column, const name_hash& names)
{
  frame_column read{text_of(py::object(column.attr("name")), "the column"), 0, nullptr, nullptr, {}};
  read.hash = names(read.name);
  const py::object words = column.attr("words");
  const py::object entries = column.attr("entries");  // the frame keeps them alive
  if (words.is_none())
  {
    read.numbers = py::reinterpret_borrow<double_array>(entries).data();
    return read;
  }
  read.codes = py::reinterpret_borrow<indices>(entries).data();
  for (const auto& word : words) { read.words.push_back(names(read.name + "=" + text_of(word, "the category"))); }
  return read;
}
}  // namespace vw_fastcb

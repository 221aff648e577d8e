#include "allocation/allocation.h"
#include "register.h"

#include <pybind11/numpy.h>

namespace py = pybind11;

namespace vw_fastcb
{
namespace
{
using rows = py::array_t<double, py::array::c_style | py::array::forcecast>;
using rule = void (*)(const double*, size_t, double, double*);

// Applies a rule to each row of an (n, A) array, with one gamma a row. vw_fastcb.allocation checks the values.
template <rule allocate>
rows allocate_rows(const rows& predictions, const rows& gammas)
{
  const py::ssize_t count = predictions.shape(0);
  const py::ssize_t actions = predictions.shape(1);
  rows pmf({count, actions});
  const double* in = predictions.data();
  const double* gamma = gammas.data();
  double* out = pmf.mutable_data();
  {
    py::gil_scoped_release release;
    for (py::ssize_t i = 0; i < count; ++i)
    {
      allocate(in + i * actions, static_cast<size_t>(actions), gamma[i], out + i * actions);
    }
  }
  return pmf;
}
}  // namespace

void register_allocation(py::module_& module)
{
  module.def("reweighted_igw", &allocate_rows<reweighted_igw>, py::arg("losses"), py::arg("gammas"));
  module.def("igw", &allocate_rows<igw>, py::arg("losses"), py::arg("gammas"));
  module.def("reweighted_igw_both", &allocate_rows<reweighted_igw_both>, py::arg("losses"), py::arg("gammas"));
  module.def("reweighted_igw_rewards", &allocate_rows<reweighted_igw_rewards>, py::arg("rewards"), py::arg("gammas"));
}
}  // namespace vw_fastcb

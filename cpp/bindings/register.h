// One function a concept; module.cc calls them all.
#pragma once

#include <pybind11/pybind11.h>

namespace vw_fastcb
{
void register_errors();
void register_allocation(pybind11::module_& module);
void register_cli(pybind11::module_& module);
void register_examples(pybind11::module_& module);
void register_json(pybind11::module_& module);
void register_learner(pybind11::module_& module);
void register_oracles(pybind11::module_& module);
}  // namespace vw_fastcb

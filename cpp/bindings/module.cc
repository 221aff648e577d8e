#include "register.h"

PYBIND11_MODULE(_engine, module)
{
  module.doc() = "The compiled engine of vw_fastcb. Use the functions and classes of vw_fastcb itself.";
  vw_fastcb::register_errors();
  vw_fastcb::register_allocation(module);
  vw_fastcb::register_cli(module);
  vw_fastcb::register_examples(module);
  vw_fastcb::register_json(module);
  vw_fastcb::register_learner(module);
  vw_fastcb::register_oracles(module);
}

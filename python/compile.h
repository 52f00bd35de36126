// The module's function `compile`.
#pragma once

#include <pybind11/pybind11.h>

namespace berth_python {

void DefineCompile(pybind11::module_& module);

}  // namespace berth_python

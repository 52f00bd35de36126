// Arrays of numpy as tensors of the C API and back, without a copy where it is possible.
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "python/handles.h"

namespace berth_python {

// A numpy dtype for one of Berth's. Throws for bfloat16, which numpy does not have.
pybind11::dtype ToNumpy(berth_dtype dtype);

// Anything that numpy understands, or that has __dlpack__, as a dense array; copied only where it
// is not dense. Its dtype must be `dtype`: values are never converted in silence.
pybind11::array ToArray(const pybind11::object& value, berth_dtype dtype, const std::string& name);

// Over the memory of the array; `extents` keeps the shape.
berth_tensor ToTensor(const pybind11::array& array, berth_dtype dtype,
                      std::vector<int64_t>& extents);

// Each tensor as an array that shares the list's memory and keeps it.
std::vector<pybind11::array> ToArrays(TensorListHandle list);
// A copy.
pybind11::array Copied(const berth_tensor& tensor);

}  // namespace berth_python

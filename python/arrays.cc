#include "python/arrays.h"

namespace berth_python {
namespace {

namespace py = pybind11;

std::vector<py::ssize_t> ShapeOf(const berth_tensor& tensor) {
  return {tensor.extents, tensor.extents + tensor.rank};
}

}  // namespace

py::dtype ToNumpy(berth_dtype dtype) {
  if (dtype == BERTH_BFLOAT16) {
    throw Error("numpy has no bfloat16; compile the model with float32 at its inputs and outputs");
  }
  return py::dtype(berth_dtype_name(dtype));
}

py::array ToArray(const py::object& value, berth_dtype dtype, const std::string& name) {
  const py::module_ numpy = py::module_::import("numpy");
  const bool is_foreign = !py::isinstance<py::array>(value) && py::hasattr(value, "__dlpack__");
  const py::object array =
      is_foreign ? numpy.attr("from_dlpack")(value) : numpy.attr("asarray")(value);
  const auto result = py::array::ensure(numpy.attr("ascontiguousarray")(array));
  if (!result) throw Error("input '" + name + "' is no array");
  if (!result.dtype().is(ToNumpy(dtype)) && !result.dtype().equal(ToNumpy(dtype))) {
    throw Error("input '" + name + "' is " + std::string(py::str(result.dtype())) + ", " +
                berth_dtype_name(dtype) + " expected");
  }
  // ascontiguousarray makes a vector of a scalar.
  const auto rank = py::cast<py::ssize_t>(array.attr("ndim"));
  return rank == 0 ? py::array(result.attr("reshape")(py::tuple(0))) : result;
}

berth_tensor ToTensor(const py::array& array, berth_dtype dtype, std::vector<int64_t>& extents) {
  extents.assign(array.shape(), array.shape() + array.ndim());
  berth_tensor tensor{};
  tensor.data = const_cast<void*>(array.data());  // inputs are only read
  tensor.size_bytes = static_cast<size_t>(array.nbytes());
  tensor.extents = extents.data();
  tensor.rank = static_cast<int32_t>(extents.size());
  tensor.dtype = dtype;
  return tensor;
}

std::vector<py::array> ToArrays(TensorListHandle list) {
  berth_tensor_list* const tensors = list.get();
  const py::capsule owner(list.release(), [](void* owned) {
    berth_tensor_list_release(static_cast<berth_tensor_list*>(owned));
  });
  std::vector<py::array> arrays;
  for (size_t i = 0; i < berth_tensor_list_count(tensors); ++i) {
    berth_tensor tensor{};
    Check(berth_tensor_list_get(tensors, i, &tensor));
    arrays.emplace_back(ToNumpy(tensor.dtype), ShapeOf(tensor), tensor.data, owner);
  }
  return arrays;
}

py::array Copied(const berth_tensor& tensor) {
  return py::array(ToNumpy(tensor.dtype), ShapeOf(tensor), tensor.data);
}

}  // namespace berth_python

// Tensors as doubles, for references whose result is rounded once at the end.
#pragma once

#include <vector>

#include "base/tensor.h"
#include "kernels/graph.h"

namespace berth {

std::vector<double> ToDoubles(const ConstTensorView& tensor);
// Converts to the tensor's dtype (integers by truncation).
void FromDoubles(const std::vector<double>& values, const TensorView& tensor);

// Strides, in elements, of an activation tensor by meaning; spatial axes that it lacks have stride
// 0 and extent 1.
struct ImageIndex {
  int64_t batch_stride = 0, channel_stride = 0;
  int64_t space_stride[3] = {};
  int64_t space_extent[3] = {1, 1, 1};

  ImageIndex(DataLayout layout, const Shape& shape);
  int64_t At(int64_t n, int64_t c, const int64_t (&space)[3]) const {
    return n * batch_stride + c * channel_stride + space[0] * space_stride[0] +
           space[1] * space_stride[1] + space[2] * space_stride[2];
  }
};

// Calls body(index) for all of [0, extent[0]) x [0, extent[1]) x [0, extent[2]).
template <typename Body>
void ForEachPoint(const int64_t (&extent)[3], Body&& body) {
  int64_t index[3];
  for (index[0] = 0; index[0] < extent[0]; ++index[0]) {
    for (index[1] = 0; index[1] < extent[1]; ++index[1]) {
      for (index[2] = 0; index[2] < extent[2]; ++index[2]) body(index);
    }
  }
}

}  // namespace berth

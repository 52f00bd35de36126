#include "kernels/tile_loop.h"

#include <iterator>

namespace berth {
namespace {
constexpr const char* kAxisNames[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
}  // namespace

IterationSpace AxisLoops(const Shape& shape) {
  IterationSpace space;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto name = std::min(static_cast<size_t>(axis), std::size(kAxisNames) - 1);
    space.push_back({kAxisNames[name], shape[axis], 1, axis});
  }
  return space;
}

}  // namespace berth

// Reference of TopK: ranks every element of a line by counting what comes before it.
#include "kernels/comparable.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
absl::Status TopKReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                           absl::Span<const TensorView> outputs) {
  const int64_t given = call.node->attributes.Int("axis", -1);
  const auto axis = static_cast<size_t>(given < 0 ? given + call.input(0).shape.rank() : given);
  const bool largest = call.node->attributes.Int("largest", 1) != 0;
  const Shape& shape = inputs[0].type.shape;
  const int64_t k = outputs[0].type.shape[static_cast<int>(axis)];
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    const auto values = inputs[0].Values<T>();
    const auto at = [&](Coordinates index, int64_t position) {
      index[axis] = position;
      return Comparable(values[static_cast<size_t>(FlatIndex(shape, index))]);
    };
    ForEachIndex(shape, [&](const Coordinates& index) {
      const auto value = at(index, index[axis]);
      int64_t rank = 0;
      for (int64_t other = 0; other < shape[static_cast<int>(axis)]; ++other) {
        const auto rival = at(index, other);
        const bool before = largest ? rival > value : rival < value;
        if (before || (rival == value && other < index[axis])) ++rank;
      }
      if (rank >= k) return;
      Coordinates target = index;
      target[axis] = rank;
      const int64_t flat = FlatIndex(outputs[0].type.shape, target);
      CopyElement(inputs[0], FlatIndex(shape, index), outputs[0], flat);
      if (outputs.size() > 1) {
        outputs[1].Values<int64_t>()[static_cast<size_t>(flat)] = index[axis];
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace berth

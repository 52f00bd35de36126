// References of the ops whose result's shape hangs on values.
#include <algorithm>
#include <cmath>

#include "kernels/ops/range.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// Slice i of a tensor along an axis, as its elements in order.
std::vector<std::vector<double>> Slices(const ConstTensorView& x, int axis) {
  const std::vector<double> values = ToDoubles(x);
  const auto count =
      static_cast<size_t>(axis < 0 ? static_cast<int64_t>(values.size()) : x.type.shape[axis]);
  std::vector<std::vector<double>> slices(count);
  size_t flat = 0;
  ForEachIndex(x.type.shape, [&](const Coordinates& index) {
    const size_t slice = axis < 0 ? flat : static_cast<size_t>(index[static_cast<size_t>(axis)]);
    slices[slice].push_back(values[flat++]);
  });
  return slices;
}

struct Box {
  double y1, x1, y2, x2;
  double Area() const { return (y2 - y1) * (x2 - x1); }
};

Box BoxOf(const float* v, bool is_centered) {
  if (is_centered) {
    return {v[1] - v[3] / 2.0, v[0] - v[2] / 2.0, v[1] + v[3] / 2.0, v[0] + v[2] / 2.0};
  }
  return {std::fmin(v[0], v[2]), std::fmin(v[1], v[3]), std::fmax(v[0], v[2]),
          std::fmax(v[1], v[3])};
}

double IouOf(const Box& a, const Box& b) {
  const double height = std::fmin(a.y2, b.y2) - std::fmax(a.y1, b.y1);
  const double width = std::fmin(a.x2, b.x2) - std::fmax(a.x1, b.x1);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.Area() + b.Area() - height * width);
}

double ScalarOr(Inputs inputs, size_t i, double otherwise) {
  if (i >= inputs.size() || inputs[i].type.dtype == DType::kUndefined) return otherwise;
  return ToDoubles(inputs[i])[0];
}

}  // namespace

absl::Status RangeReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  if (IsFloat(outputs[0].type.dtype)) {
    const double start = ToDoubles(inputs[0])[0], delta = ToDoubles(inputs[2])[0];
    std::vector<double> values(static_cast<size_t>(outputs[0].type.shape.ElementCount()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
    FromDoubles(values, outputs[0]);
    return absl::OkStatus();
  }
  CopyAll(RangeValues(call, outputs[0].type).view(), outputs[0]);
  return absl::OkStatus();
}

absl::Status NonZeroReference(const OpCall&, Inputs inputs, Outputs outputs) {
  const std::vector<double> values = ToDoubles(inputs[0]);
  const auto out = outputs[0].Values<int64_t>();
  const auto count = static_cast<size_t>(outputs[0].type.shape[1]);
  size_t flat = 0, found = 0;
  ForEachIndex(inputs[0].type.shape, [&](const Coordinates& index) {
    if (values[flat++] == 0) return;
    for (size_t axis = 0; axis < index.size(); ++axis) out[axis * count + found] = index[axis];
    ++found;
  });
  return absl::OkStatus();
}

// Each slice is compared with every other.
absl::Status UniqueReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Attributes& attributes = call.node->attributes;
  const Shape& x = inputs[0].type.shape;
  int axis = -1;
  if (attributes.Has("axis")) {
    BERTH_ASSIGN_OR_RETURN(axis, NormalizeAxis(attributes.Int("axis", 0), x.rank()));
  }
  const std::vector<std::vector<double>> slices = Slices(inputs[0], axis);
  std::vector<size_t> first;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (std::find(slices.begin(), slices.begin() + static_cast<ptrdiff_t>(i), slices[i]) ==
        slices.begin() + static_cast<ptrdiff_t>(i)) {
      first.push_back(i);
    }
  }
  if (attributes.Int("sorted", 1) != 0) {
    std::sort(first.begin(), first.end(),
              [&](size_t a, size_t b) { return slices[a] < slices[b]; });
  }
  const auto wanted = [&](size_t output) {
    return output < outputs.size() && outputs[output].data != nullptr;
  };
  for (size_t rank = 0; rank < first.size(); ++rank) {
    int64_t count = 0;
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i] != slices[first[rank]]) continue;
      ++count;
      if (wanted(2)) outputs[2].Values<int64_t>()[i] = static_cast<int64_t>(rank);
    }
    if (wanted(1)) outputs[1].Values<int64_t>()[rank] = static_cast<int64_t>(first[rank]);
    if (wanted(3)) outputs[3].Values<int64_t>()[rank] = count;
  }
  if (!wanted(0)) return absl::OkStatus();
  if (axis < 0) {
    for (size_t i = 0; i < first.size(); ++i) {
      CopyElement(inputs[0], static_cast<int64_t>(first[i]), outputs[0], static_cast<int64_t>(i));
    }
    return absl::OkStatus();
  }
  CopyFrom(inputs[0], outputs[0], [&](Coordinates index) {
    int64_t& place = index[static_cast<size_t>(axis)];
    place = static_cast<int64_t>(first[static_cast<size_t>(place)]);
    return index;
  });
  return absl::OkStatus();
}

// The best box that is left, until there is none or there are enough.
absl::Status NonMaxSuppressionReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[1].type.shape;
  const bool is_centered = call.node->attributes.Int("center_point_box", 0) != 0;
  const double most = ScalarOr(inputs, 2, 0), iou_limit = ScalarOr(inputs, 3, 0);
  const double least_score = ScalarOr(inputs, 4, -HUGE_VAL);
  int64_t* out = outputs[0].Values<int64_t>().data();
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    const float* boxes = inputs[0].Values<float>().data() + batch * shape[2] * 4;
    for (int64_t of_class = 0; of_class < shape[1]; ++of_class) {
      const float* scores =
          inputs[1].Values<float>().data() + (batch * shape[1] + of_class) * shape[2];
      std::vector<bool> is_left(static_cast<size_t>(shape[2]), true);
      for (double count = 0; count < most; ++count) {
        int64_t best = -1;
        for (int64_t i = 0; i < shape[2]; ++i) {
          if (!is_left[static_cast<size_t>(i)] || !(scores[i] > least_score)) continue;
          if (best < 0 || scores[i] > scores[best]) best = i;
        }
        if (best < 0) break;
        const Box chosen = BoxOf(boxes + best * 4, is_centered);
        for (int64_t i = 0; i < shape[2]; ++i) {
          const bool overlaps = IouOf(chosen, BoxOf(boxes + i * 4, is_centered)) > iou_limit;
          if (i == best || overlaps) is_left[static_cast<size_t>(i)] = false;
        }
        for (const int64_t value : {batch, of_class, best}) *out++ = value;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace berth

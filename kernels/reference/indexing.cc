// References of the ops that read or write where indices say.
#include <algorithm>

#include "kernels/reference/arithmetic.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

size_t AxisOf(const OpCall& call, int64_t otherwise) {
  const int64_t axis = call.node->attributes.Int("axis", otherwise);
  return static_cast<size_t>(axis < 0 ? axis + call.input(0).shape.rank() : axis);
}

absl::StatusOr<int64_t> Place(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent) {
    return InvalidArgument("index {} is outside [{}, {})", index, -extent, extent);
  }
  return index < 0 ? index + extent : index;
}

// The first of the elements of `data` that the tuple of indices at `row` names, behind the batch
// place `prefix`.
absl::StatusOr<Coordinates> TuplePlace(const Shape& data, const std::vector<int64_t>& indices,
                                       int64_t row, int64_t tuple, Coordinates prefix) {
  for (int64_t i = 0; i < tuple; ++i) {
    const int64_t extent = data[static_cast<int>(prefix.size())];
    BERTH_ASSIGN_OR_RETURN(const int64_t place,
                           Place(indices[static_cast<size_t>(row * tuple + i)], extent));
    prefix.push_back(place);
  }
  prefix.resize(static_cast<size_t>(data.rank()), 0);
  return prefix;
}

void CombineElement(const std::string& reduction, const ConstTensorView& from, int64_t from_flat,
                    const TensorView& to, int64_t to_flat) {
  if (reduction == "none") return CopyElement(from, from_flat, to, to_flat);
  VisitDType(to.type.dtype, [&]<typename T>() {
    const auto b = ToArithmetic(from.Values<T>()[static_cast<size_t>(from_flat)]);
    T& target = to.Values<T>()[static_cast<size_t>(to_flat)];
    auto a = ToArithmetic(target);
    using Number = decltype(a);
    if (reduction == "max") {
      a = std::max(a, b);
    } else if (reduction == "min") {
      a = std::min(a, b);
    } else if constexpr (std::is_integral_v<Number>) {
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      a = static_cast<Number>(reduction == "add" ? x + y : x * y);
    } else {
      a = reduction == "add" ? a + b : a * b;
    }
    target = FromArithmetic<T>(a);
  });
}

std::string ReductionOf(const OpCall& call) {
  return call.node->attributes.String("reduction", "none");
}

}  // namespace

absl::Status GatherElementsReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const size_t axis = AxisOf(call, 0);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64Values(inputs[1]));
  const Shape& data = inputs[0].type.shape;
  absl::Status status;
  int64_t flat = 0;
  ForEachIndex(outputs[0].type.shape, [&](const Coordinates& index) {
    const auto place = Place(indices[static_cast<size_t>(flat)], data[static_cast<int>(axis)]);
    if (!place.ok()) {
      status = place.status();
      return;
    }
    Coordinates source = index;
    source[axis] = *place;
    CopyElement(inputs[0], FlatIndex(data, source), outputs[0], flat++);
  });
  return status;
}

absl::Status GatherNDReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const auto batch_axes = static_cast<size_t>(call.node->attributes.Int("batch_dims", 0));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64Values(inputs[1]));
  const Shape& data = inputs[0].type.shape;
  const Shape& shape = inputs[1].type.shape;
  const Shape places(std::vector<int64_t>(shape.begin(), shape.end() - 1));
  const int first = static_cast<int>(batch_axes + static_cast<size_t>(shape.back()));
  const int64_t slice = data.Product(first, data.rank());
  absl::Status status;
  int64_t row = 0;
  ForEachIndex(places, [&](const Coordinates& index) {
    const Coordinates prefix(index.begin(), index.begin() + static_cast<ptrdiff_t>(batch_axes));
    const auto place = TuplePlace(data, indices, row, shape.back(), prefix);
    if (!place.ok()) {
      status = place.status();
      return;
    }
    const int64_t from = FlatIndex(data, *place);
    for (int64_t i = 0; i < slice; ++i) {
      CopyElement(inputs[0], from + i, outputs[0], row * slice + i);
    }
    ++row;
  });
  return status;
}

absl::Status ReverseSequenceReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const auto batch = static_cast<size_t>(call.node->attributes.Int("batch_axis", 1));
  const auto time = static_cast<size_t>(call.node->attributes.Int("time_axis", 0));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ToInt64Values(inputs[1]));
  CopyFrom(inputs[0], outputs[0], [&](Coordinates index) {
    const int64_t length = lengths[static_cast<size_t>(index[batch])];
    if (index[time] < length) index[time] = length - 1 - index[time];
    return index;
  });
  return absl::OkStatus();
}

absl::Status ScatterNDReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  CopyAll(inputs[0], outputs[0]);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64Values(inputs[1]));
  const Shape& data = inputs[0].type.shape;
  const int64_t tuple = inputs[1].type.shape.back();
  const int64_t slice = data.Product(static_cast<int>(tuple), data.rank());
  for (int64_t row = 0; row < inputs[1].type.shape.ElementCount() / tuple; ++row) {
    BERTH_ASSIGN_OR_RETURN(const Coordinates place, TuplePlace(data, indices, row, tuple, {}));
    const int64_t to = FlatIndex(data, place);
    for (int64_t i = 0; i < slice; ++i) {
      CombineElement(ReductionOf(call), inputs[2], row * slice + i, outputs[0], to + i);
    }
  }
  return absl::OkStatus();
}

absl::Status ScatterElementsReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  CopyAll(inputs[0], outputs[0]);
  const size_t axis = AxisOf(call, 0);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64Values(inputs[1]));
  const Shape& data = inputs[0].type.shape;
  absl::Status status;
  int64_t flat = 0;
  ForEachIndex(inputs[1].type.shape, [&](const Coordinates& index) {
    const auto place = Place(indices[static_cast<size_t>(flat)], data[static_cast<int>(axis)]);
    if (!place.ok()) {
      status = place.status();
      return;
    }
    Coordinates target = index;
    target[axis] = *place;
    CombineElement(ReductionOf(call), inputs[2], flat++, outputs[0], FlatIndex(data, target));
  });
  return status;
}

absl::Status ScatterReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return ScatterElementsReference(call, inputs, outputs);
}

// Numbers of elements of the pooled tensor, which the result may be larger than.
absl::Status MaxUnpoolReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0].type.shape;
  const Shape& result = outputs[0].type.shape;
  const Attributes& attributes = call.node->attributes;
  const auto kernel = attributes.Ints("kernel_shape"), strides = attributes.Ints("strides");
  const auto pads = attributes.Ints("pads");
  Shape pooled = x;
  const auto count = static_cast<size_t>(x.rank() - 2);
  for (size_t i = 0; i < count; ++i) {
    const int axis = static_cast<int>(i) + 2;
    pooled[axis] = (x[axis] - 1) * (strides.empty() ? 1 : strides[i]) + kernel[i];
    if (!pads.empty()) pooled[axis] -= pads[i] + pads[i + count];
  }
  std::memset(outputs[0].data, 0, static_cast<size_t>(outputs[0].type.ByteCount()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ToInt64Values(inputs[1]));
  for (size_t i = 0; i < numbers.size(); ++i) {
    int64_t rest = numbers[i];
    Coordinates place(static_cast<size_t>(x.rank()));
    for (int axis = x.rank(); axis-- > 0; rest /= pooled[axis]) {
      BERTH_ASSIGN_OR_RETURN(place[static_cast<size_t>(axis)],
                             Place(rest % pooled[axis], result[axis]));
    }
    CopyElement(inputs[0], static_cast<int64_t>(i), outputs[0], FlatIndex(result, place));
  }
  return absl::OkStatus();
}

absl::Status CompressReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  std::vector<int64_t> chosen;
  const auto condition = inputs[1].Values<bool>();
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]) chosen.push_back(static_cast<int64_t>(i));
  }
  if (!call.node->attributes.Has("axis")) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      CopyElement(inputs[0], chosen[i], outputs[0], static_cast<int64_t>(i));
    }
    return absl::OkStatus();
  }
  const size_t axis = AxisOf(call, 0);
  CopyFrom(inputs[0], outputs[0], [&](Coordinates index) {
    index[axis] = chosen[static_cast<size_t>(index[axis])];
    return index;
  });
  return absl::OkStatus();
}

}  // namespace berth

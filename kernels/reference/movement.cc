// References of the ops that pick, repeat, join and permute elements.
#include "kernels/reference/movement.h"

#include "kernels/ops/axis_map.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// The input position that output position `i` of an axis shows; -1 for the fill value.
int64_t SourceOf(const AxisSegments& segments, int64_t i) {
  for (const AxisSegment& segment : segments) {
    if (i >= segment.begin && i < segment.begin + segment.count) {
      return segment.source + (i - segment.begin) * segment.step;
    }
  }
  return -1;
}

absl::Status CopyMapped(const absl::StatusOr<AxisMap>& map, const ConstTensorView& in,
                        const TensorView& out) {
  BERTH_RETURN_IF_ERROR(map.status());
  const auto bytes = static_cast<size_t>(DTypeBytes(out.type.dtype));
  int64_t flat = 0;
  ForEachIndex(out.type.shape, [&](const Coordinates& index) {
    Coordinates source(index.size());
    bool is_fill = false;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      source[axis] = SourceOf(map->axes[axis], index[axis]);
      is_fill = is_fill || source[axis] < 0;
    }
    if (is_fill) {
      std::memcpy(out.data + flat * static_cast<int64_t>(bytes), &map->fill_pattern, bytes);
    } else {
      CopyElement(in, FlatIndex(in.type.shape, source), out, flat);
    }
    ++flat;
  });
  return absl::OkStatus();
}

size_t AxisOf(const OpCall& call, int64_t otherwise) {
  const int64_t axis = call.node->attributes.Int("axis", otherwise);
  return static_cast<size_t>(axis < 0 ? axis + call.input(0).shape.rank() : axis);
}

}  // namespace

absl::Status SliceReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return CopyMapped(SliceMap(call), inputs[0], outputs[0]);
}

absl::Status PadReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return CopyMapped(PadMap(call), inputs[0], outputs[0]);
}

absl::Status ExpandReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& input = call.input(0).shape;
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    Coordinates source(index.end() - input.rank(), index.end());
    for (size_t axis = 0; axis < source.size(); ++axis) {
      if (input[static_cast<int>(axis)] == 1) source[axis] = 0;
    }
    return source;
  });
  return absl::OkStatus();
}

absl::Status TileReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    Coordinates source = index;
    for (size_t axis = 0; axis < source.size(); ++axis) {
      source[axis] %= call.input(0).shape[static_cast<int>(axis)];
    }
    return source;
  });
  return absl::OkStatus();
}

absl::Status TransposeReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const std::vector<int64_t> perm = call.node->attributes.Ints("perm");
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    if (perm.empty()) return Coordinates(index.rbegin(), index.rend());
    Coordinates source(index.size());
    for (size_t axis = 0; axis < index.size(); ++axis) {
      source[static_cast<size_t>(perm[axis])] = index[axis];
    }
    return source;
  });
  return absl::OkStatus();
}

absl::Status ConcatReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const size_t axis = AxisOf(call, 1);
  int64_t begin = 0;
  for (const ConstTensorView& input : inputs) {
    int64_t flat = 0;
    ForEachIndex(input.type.shape, [&](const Coordinates& index) {
      Coordinates target = index;
      target[axis] += begin;
      CopyElement(input, flat++, outputs[0], FlatIndex(outputs[0].type.shape, target));
    });
    begin += input.type.shape[static_cast<int>(axis)];
  }
  return absl::OkStatus();
}

absl::Status SplitReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const size_t axis = AxisOf(call, 0);
  int64_t begin = 0;
  for (const TensorView& output : outputs) {
    CopyFrom(inputs[0], output, [&](const Coordinates& index) {
      Coordinates source = index;
      source[axis] += begin;
      return source;
    });
    begin += output.type.shape[static_cast<int>(axis)];
  }
  return absl::OkStatus();
}

absl::Status GatherReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const auto axis = static_cast<std::ptrdiff_t>(AxisOf(call, 0));
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> picked, ToInt64Values(inputs[1]));
  const int64_t extent = data[static_cast<int>(axis)];
  for (const int64_t index : picked) {
    if (index < -extent || index >= extent) {
      return InvalidArgument("index {} is outside [{}, {})", index, -extent, extent);
    }
  }
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    const Coordinates place(index.begin() + axis, index.begin() + axis + indices.rank());
    const int64_t position = picked[static_cast<size_t>(FlatIndex(indices, place))];
    Coordinates source(index.begin(), index.begin() + axis);
    source.push_back(position < 0 ? position + extent : position);
    source.insert(source.end(), index.begin() + axis + indices.rank(), index.end());
    return source;
  });
  return absl::OkStatus();
}

}  // namespace berth

#include "kernels/spatial.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kMaxWindowInt = (int64_t{1} << 15) - 1;  // fits the window of a command

enum class AutoPad { kExplicit, kValid, kSameUpper, kSameLower };

absl::StatusOr<AutoPad> ReadAutoPad(const Node& node) {
  const std::string text = node.attributes.String("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kExplicit;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  return InvalidArgument("auto_pad is '{}', not NOTSET, VALID, SAME_UPPER or SAME_LOWER", text);
}

// Splits a total pad; the odd one goes to the end for SAME_UPPER.
void SplitPad(int64_t total, bool odd_at_end, AxisWindow& axis) {
  axis.pad_begin = odd_at_end ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

absl::StatusOr<AxisWindows> ReadWindow(const Node& node, const Shape& input,
                                       absl::Span<const int64_t> kernel) {
  BERTH_RETURN_IF_ERROR(CheckSpatialRank(input));
  const int rank = input.rank() - 2;
  if (static_cast<int>(kernel.size()) != rank) {
    return InvalidArgument("the kernel has {} axes, the input {} has {} spatial axes",
                           kernel.size(), input.ToString(), rank);
  }
  BERTH_ASSIGN_OR_RETURN(const auto strides, SpatialInts(node, "strides", rank, 1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto dilations, SpatialInts(node, "dilations", rank, 1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto pads, SpatialInts(node, "pads", 2 * rank, 0, 0));
  AxisWindows axes(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const size_t s = static_cast<size_t>(i);
    if (kernel[s] < 1 || kernel[s] > kMaxWindowInt) {
      return InvalidArgument("kernel extent {} of axis {} is outside 1..{}", kernel[s], i,
                             kMaxWindowInt);
    }
    axes[s] = {.input = input[SpatialAxis(node.layout, i)],
               .kernel = kernel[s],
               .stride = strides[s],
               .dilation = dilations[s],
               .pad_begin = pads[s],
               .pad_end = pads[s + static_cast<size_t>(rank)]};
  }
  return axes;
}

// Output extent for the pads that stand in `axis`.
int64_t WindowCount(const AxisWindow& axis, bool ceil_mode) {
  const int64_t span = axis.input + axis.pad_begin + axis.pad_end - axis.effective_kernel();
  if (span < 0) return 0;
  if (!ceil_mode) return span / axis.stride + 1;
  const int64_t count = CeilDiv(span, axis.stride) + 1;
  return (count - 1) * axis.stride >= axis.input + axis.pad_begin ? count - 1 : count;
}

}  // namespace

Shape ActivationShape(DataLayout layout, int64_t batch, absl::Span<const int64_t> spatial,
                      int64_t channels) {
  std::vector<int64_t> extents = {batch};
  if (layout == DataLayout::kNchw) extents.push_back(channels);
  extents.insert(extents.end(), spatial.begin(), spatial.end());
  if (layout == DataLayout::kNhwc) extents.push_back(channels);
  return Shape(std::move(extents));
}

void TakePart(const OutputPart& part, bool transposed, AxisWindows& axes) {
  const int spatial = part.axis - SpatialAxis(DataLayout::kNhwc, 0);
  if (part.is_whole() || spatial < 0 || spatial >= static_cast<int>(axes.size())) return;
  AxisWindow& axis = axes[static_cast<size_t>(spatial)];
  axis.output = part.range.count;
  axis.pad_begin += transposed ? part.range.begin : -part.range.begin * axis.stride;
}

absl::Status CheckSpatialRank(const Shape& shape) {
  if (shape.rank() < 3) {
    return InvalidArgument("input {} has rank {}; batch, channels and a spatial axis are needed",
                           shape.ToString(), shape.rank());
  }
  if (shape.rank() > 5) {
    return Unimplemented("input {} has {} spatial axes; at most 3 are supported", shape.ToString(),
                         shape.rank() - 2);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> SpatialInts(const Node& node, std::string_view name, int count,
                                                 int64_t otherwise, int64_t least) {
  std::vector<int64_t> values = node.attributes.Ints(name);
  if (values.empty()) values.assign(static_cast<size_t>(count), otherwise);
  if (static_cast<int>(values.size()) != count) {
    return InvalidArgument("{} has {} values, {} are needed", name, values.size(), count);
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxWindowInt) {
      const bool negative_pad = value < 0 && name == "pads";
      if (negative_pad) return Unimplemented("{} has the negative value {}", name, value);
      return InvalidArgument("{} has the value {}, outside {}..{}", name, value, least,
                             kMaxWindowInt);
    }
  }
  return values;
}

absl::StatusOr<AxisWindows> ResolveWindow(const Node& node, const Shape& input,
                                          absl::Span<const int64_t> kernel) {
  BERTH_ASSIGN_OR_RETURN(AxisWindows axes, ReadWindow(node, input, kernel));
  BERTH_ASSIGN_OR_RETURN(const AutoPad auto_pad, ReadAutoPad(node));
  const bool ceil_mode = node.attributes.Int("ceil_mode", 0) != 0;
  for (AxisWindow& axis : axes) {
    if (auto_pad == AutoPad::kValid) axis.pad_begin = axis.pad_end = 0;
    if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
      axis.output = CeilDiv(axis.input, axis.stride);
      const int64_t needed = (axis.output - 1) * axis.stride + axis.effective_kernel();
      SplitPad(std::max<int64_t>(0, needed - axis.input), auto_pad == AutoPad::kSameUpper, axis);
    } else {
      axis.output = WindowCount(axis, ceil_mode);
    }
    if (axis.output < 1) {
      return InvalidArgument(
          "a kernel of {} with dilation {} and pads {}+{} does not fit an input of {}", axis.kernel,
          axis.dilation, axis.pad_begin, axis.pad_end, axis.input);
    }
  }
  return axes;
}

absl::StatusOr<AxisWindows> ResolveTransposedWindow(const Node& node, const Shape& input,
                                                    absl::Span<const int64_t> kernel) {
  BERTH_ASSIGN_OR_RETURN(AxisWindows axes, ReadWindow(node, input, kernel));
  BERTH_ASSIGN_OR_RETURN(const AutoPad auto_pad, ReadAutoPad(node));
  const int rank = static_cast<int>(axes.size());
  BERTH_ASSIGN_OR_RETURN(const auto extra, SpatialInts(node, "output_padding", rank, 0, 0));
  std::vector<int64_t> wanted = node.attributes.Ints("output_shape");
  if (static_cast<int>(wanted.size()) == rank + 2) {  // some exporters give batch and channels too
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  if (!wanted.empty() && static_cast<int>(wanted.size()) != rank) {
    return InvalidArgument("output_shape has {} values, {} are needed", wanted.size(), rank);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisWindow& axis = axes[i];
    const int64_t full = axis.stride * (axis.input - 1) + extra[i] + axis.effective_kernel();
    const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
    if (auto_pad == AutoPad::kValid) axis.pad_begin = axis.pad_end = 0;
    if (!wanted.empty() || same) {
      axis.output = wanted.empty() ? axis.input * axis.stride : wanted[i];
      SplitPad(std::max<int64_t>(0, full - axis.output), auto_pad == AutoPad::kSameUpper, axis);
    } else {
      axis.output = full - axis.pad_begin - axis.pad_end;
    }
    if (axis.input < 1 || axis.output < 1) {
      return InvalidArgument(
          "an input of {} with stride {}, kernel {}, pads {}+{} gives {} outputs", axis.input,
          axis.stride, axis.kernel, axis.pad_begin, axis.pad_end, axis.output);
    }
  }
  return axes;
}

absl::StatusOr<AxisWindows> ResolvePoolWindow(const OpCall& call) {
  const Node& node = *call.node;
  const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape");
  if (kernel.empty()) return InvalidArgument("kernel_shape is missing");
  BERTH_ASSIGN_OR_RETURN(const AxisWindows axes, ResolveWindow(node, call.input(0).shape, kernel));
  for (const AxisWindow& axis : axes) {
    if (axis.pad_begin >= axis.effective_kernel() || axis.pad_end >= axis.effective_kernel()) {
      return InvalidArgument("pads {}+{} are not smaller than the kernel of {}", axis.pad_begin,
                             axis.pad_end, axis.effective_kernel());
    }
  }
  return axes;
}

Tensor ScalarTensor(DType dtype, double value) {
  Tensor tensor(TensorType{dtype, {}});
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
      tensor.Values<T>()[0] = T(static_cast<float>(value));
    } else {
      tensor.Values<T>()[0] = static_cast<T>(value);
    }
  });
  return tensor;
}

}  // namespace berth

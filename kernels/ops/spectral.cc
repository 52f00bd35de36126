// The windows of signal processing, which are constants, and DFT and STFT, which are products with
// a constant matrix of cosines and sines.
//
// Formulas: ONNX HannWindow, HammingWindow, BlackmanWindow, DFT and STFT.
#include "kernels/ops/spectral.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMostWindow = int64_t{1} << 24;
constexpr int64_t kMostSamples = int64_t{1} << 26;  // in the frames of a signal
constexpr int64_t kMostMatrix = int64_t{1} << 26;   // elements of the matrix of a transform

absl::StatusOr<int64_t> OneInt(const OpCall& call, int i, const char* name) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> values, IntOperand(call, i, name));
  if (values.size() == 1) return values[0];
  return InvalidArgument("input {} ({}) has {} elements", i, name, values.size());
}

absl::StatusOr<std::vector<TensorType>> WindowTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_ASSIGN_OR_RETURN(const int64_t count, OneInt(call, 0, "size"));
  if (count < 0 || count > kMostWindow) {
    return InvalidArgument("size {} is outside [0, {}]", count, kMostWindow);
  }
  const int64_t number = call.node->attributes.Int("output_datatype", 1);
  const auto dtype = DTypeFromOnnx(number);
  if (!dtype || !IsFloat(*dtype)) {
    return Unimplemented("attribute output_datatype = {}: no float dtype here", number);
  }
  return std::vector<TensorType>{{*dtype, Shape{count}}};
}

absl::Status ExpandWindow(const OpCall& call, GraphRewriter& rewrite) {
  const std::vector<double> values = WindowValues(*call.node, call.output().shape[0]);
  const Tensor wide = Tensor::FromValues<double>(DType::kFloat64, call.output().shape, values);
  ApplyCast(rewrite, rewrite.Constant(wide), call.output().dtype, call.node->outputs[0]);
  return rewrite.status();
}

// The matrix that takes `samples` samples (of one part or two) to `bins` bins of two parts:
// rows [sample, part], columns [bin, part].
Tensor TransformMatrix(const Transform& t, DType dtype) {
  const int64_t parts = t.is_complex ? 2 : 1;
  const double sign = t.inverse ? 1 : -1;
  const double factor = t.inverse ? 1.0 / static_cast<double>(t.length) : 1;
  std::vector<double> values;
  for (int64_t sample = 0; sample < t.length; ++sample) {
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t bin = 0; bin < t.bins; ++bin) {
        const int64_t turn = sample * bin % t.length;
        const double angle = 2 * kPi * static_cast<double>(turn) / static_cast<double>(t.length);
        const double cosine = factor * std::cos(angle), sine = factor * sign * std::sin(angle);
        values.push_back(part == 0 ? cosine : -sine);
        values.push_back(part == 0 ? sine : cosine);
      }
    }
  }
  Tensor matrix(TensorType{dtype, Shape{t.length * parts, t.bins * 2}});
  VisitDType(dtype, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        matrix.Values<T>()[i] = T(static_cast<float>(values[i]));
      } else {
        matrix.Values<T>()[i] = static_cast<T>(values[i]);
      }
    }
  });
  return matrix;
}

// [..., samples, parts] to [..., bins, 2]; more samples than the transform takes are cut off, where
// there are fewer zeros follow.
ValueId ApplyTransform(GraphRewriter& rewrite, ValueId x, const Transform& t,
                       ValueId result = ValueId::kNone) {
  if (!rewrite.status().ok()) return ValueId::kNone;
  const TensorType type = rewrite.TypeOf(x);
  const int rank = type.shape.rank();
  const int64_t samples = type.shape[rank - 2];
  if (samples > t.length) x = ApplySlice(rewrite, x, {rank - 2, 0, t.length});
  if (samples < t.length) {
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    pads[static_cast<size_t>(2 * rank - 2)] = t.length - samples;
    const ValueId zero = rewrite.Constant(ScalarTensor(type.dtype, 0));
    x = rewrite.Apply(OpKind::kPad, {x, rewrite.Int64s(pads), zero});
  }
  const int64_t parts = t.is_complex ? 2 : 1;
  const int64_t rows = type.shape.Product(0, rank - 2);
  const ValueId flat = ApplyReshape(rewrite, x, Shape{rows, t.length * parts});
  const ValueId matrix = rewrite.Constant(TransformMatrix(t, type.dtype));
  const ValueId product = rewrite.Apply(OpKind::kMatMul, {flat, matrix});
  std::vector<int64_t> extents(type.shape.begin(), type.shape.end() - 2);
  extents.push_back(t.bins);
  extents.push_back(2);
  return ApplyReshape(rewrite, product, Shape(std::move(extents)), result);
}

absl::Status CheckSignal(const OpCall& call, int least_rank) {
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  const Shape& x = call.input(0).shape;
  if (x.rank() >= least_rank && (x.back() == 1 || x.back() == 2) && x.ElementCount() > 0) {
    return absl::OkStatus();
  }
  return InvalidArgument("the signal has shape {}: the last axis must be of 1 or 2 parts",
                         x.ToString());
}

absl::Status CheckTransform(const Transform& t) {
  if (t.length < 1) return InvalidArgument("a transform of {} samples", t.length);
  if (t.length > kMostMatrix / std::max<int64_t>(t.length, 4) / 4) {
    return ResourceExhausted("a transform of {} samples", t.length);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<double> WindowValues(const Node& node, int64_t count) {
  const bool periodic = node.attributes.Int("periodic", 1) != 0;
  double mean = 0.5, first = 0.5, second = 0;
  if (node.kind == OpKind::kHammingWindow) {
    mean = 25.0 / 46;
    first = 21.0 / 46;
  } else if (node.kind == OpKind::kBlackmanWindow) {
    mean = 0.42;
    second = 0.08;
  }
  const double period = static_cast<double>(std::max<int64_t>(periodic ? count : count - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double angle = 2 * kPi * static_cast<double>(i) / period;
    values.push_back(mean - first * std::cos(angle) + second * std::cos(2 * angle));
  }
  return values;
}

absl::StatusOr<Transform> ResolveDft(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  const Shape& x = call.input(0).shape;
  Transform t;
  t.is_complex = x.back() == 2;
  t.inverse = attributes.Int("inverse", 0) != 0;
  // The axis is an attribute before 20, input 2 since. The last axis holds the parts.
  int64_t axis = attributes.Int("axis", 1);
  if (call.node->opset >= 20) {
    axis = -2;
    if (call.HasInput(2)) {
      BERTH_ASSIGN_OR_RETURN(axis, OneInt(call, 2, "axis"));
    }
  }
  BERTH_ASSIGN_OR_RETURN(t.axis, NormalizeAxis(axis, x.rank()));
  if (t.axis == x.rank() - 1) return InvalidArgument("axis {} holds the parts", t.axis);
  t.length = x[t.axis];
  if (call.HasInput(1)) {
    BERTH_ASSIGN_OR_RETURN(t.length, OneInt(call, 1, "dft_length"));
  }
  const bool onesided = attributes.Int("onesided", 0) != 0;
  if (onesided && (t.inverse || t.is_complex)) {
    return Unimplemented("onesided = 1 of complex samples or with inverse = 1");
  }
  t.bins = onesided ? t.length / 2 + 1 : t.length;
  BERTH_RETURN_IF_ERROR(CheckTransform(t));
  return t;
}

absl::StatusOr<Frames> ResolveStft(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  Frames frames;
  BERTH_ASSIGN_OR_RETURN(frames.step, OneInt(call, 1, "frame_step"));
  if (call.HasInput(3)) {
    BERTH_ASSIGN_OR_RETURN(frames.transform.length, OneInt(call, 3, "frame_length"));
  } else if (call.HasInput(2)) {
    frames.transform.length = call.input(2).shape.ElementCount();
  } else {
    return InvalidArgument("neither a window nor frame_length is given");
  }
  Transform& t = frames.transform;
  t.is_complex = x.back() == 2;
  const bool onesided = call.node->attributes.Int("onesided", 1) != 0;
  if (onesided && t.is_complex) return Unimplemented("onesided = 1 of complex samples");
  t.bins = onesided ? t.length / 2 + 1 : t.length;
  BERTH_RETURN_IF_ERROR(CheckTransform(t));
  if (frames.step < 1 || t.length > x[1]) {
    return InvalidArgument("frames of {} by {} in a signal of {}", t.length, frames.step, x[1]);
  }
  if (call.HasInput(2) && call.input(2) != TensorType{call.input(0).dtype, Shape{t.length}}) {
    return InvalidArgument("the window is {}, frames have {} samples", call.input(2).ToString(),
                           t.length);
  }
  frames.count = (x[1] - t.length) / frames.step + 1;
  if (frames.count > kMostSamples / t.length) {
    return ResourceExhausted("{} frames of {} samples", frames.count, t.length);
  }
  return frames;
}

namespace {

absl::StatusOr<std::vector<TensorType>> DFTTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, call.node->opset < 20 ? 2 : 3));
  BERTH_RETURN_IF_ERROR(CheckSignal(call, 2));
  BERTH_ASSIGN_OR_RETURN(const Transform t, ResolveDft(call));
  Shape shape = call.input(0).shape;
  shape[t.axis] = t.bins;
  shape[shape.rank() - 1] = 2;
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::Status ExpandDFT(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  BERTH_ASSIGN_OR_RETURN(const Transform t, ResolveDft(call));
  const int rank = call.input(0).shape.rank();
  if (t.axis == rank - 2) {
    ApplyTransform(rewrite, node.inputs[0], t, node.outputs[0]);
    return rewrite.status();
  }
  // The two axes change places; doing so again undoes it.
  std::vector<int64_t> swapped;
  for (int i = 0; i < rank; ++i) swapped.push_back(i);
  std::swap(swapped[static_cast<size_t>(t.axis)], swapped[static_cast<size_t>(rank - 2)]);
  const ValueId last = ApplyTranspose(rewrite, node.inputs[0], swapped);
  ApplyTranspose(rewrite, ApplyTransform(rewrite, last, t), swapped, node.outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> STFTTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 4));
  BERTH_RETURN_IF_ERROR(CheckSignal(call, 3));
  const Shape& x = call.input(0).shape;
  if (x.rank() != 3) return InvalidArgument("the signal has shape {}", x.ToString());
  BERTH_ASSIGN_OR_RETURN(const Frames frames, ResolveStft(call));
  BERTH_ASSIGN_OR_RETURN(Shape shape,
                         Shape::Create({x[0], frames.count, frames.transform.bins, 2}));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::Status ExpandSTFT(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  BERTH_ASSIGN_OR_RETURN(const Frames frames, ResolveStft(call));
  const int64_t length = frames.transform.length;
  std::vector<int64_t> samples;
  for (int64_t frame = 0; frame < frames.count; ++frame) {
    for (int64_t i = 0; i < length; ++i) samples.push_back(frame * frames.step + i);
  }
  Attributes along;
  along.Set("axis", int64_t{1});
  const ValueId index = rewrite.Constant(
      Tensor::FromValues<int64_t>(DType::kInt64, Shape{frames.count, length}, samples));
  ValueId cut = rewrite.Apply(OpKind::kGather, {node.inputs[0], index}, std::move(along));
  if (call.HasInput(2)) {
    cut =
        rewrite.Apply(OpKind::kMul, {cut, ApplyReshape(rewrite, node.inputs[2], Shape{length, 1})});
  }
  ApplyTransform(rewrite, cut, frames.transform, node.outputs[0]);
  return rewrite.status();
}

}  // namespace

#define BERTH_SPECTRAL_OP(NAME, FORM)                                                 \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = FORM##Types, .expand = Expand##FORM}; \
    return def;                                                                       \
  }
BERTH_SPECTRAL_OP(HannWindow, Window)
BERTH_SPECTRAL_OP(HammingWindow, Window)
BERTH_SPECTRAL_OP(BlackmanWindow, Window)
BERTH_SPECTRAL_OP(DFT, DFT)
BERTH_SPECTRAL_OP(STFT, STFT)
#undef BERTH_SPECTRAL_OP

}  // namespace berth

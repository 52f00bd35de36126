// STRIDED_SLICE: Python's slicing, its lists packed into three vectors and five bit masks.
#include <limits>

#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

using Ints = std::vector<int64_t>;
constexpr int kMaxTerms = 31;  // bits of a mask

struct Terms {
  Ints begin, end, stride;
  const tfl::StridedSliceOptions* options = nullptr;

  static bool Bit(int32_t mask, size_t i) { return ((mask >> i) & 1) != 0; }
};

// What is sliced, and the shape that remains when single indices drop their axes and new axes come.
struct Sliced {
  Ints starts, ends, axes, steps;
  std::vector<int64_t> kept;  // axis of the input for each axis of the result; -1: a new axis
};

class TermWalk {
 public:
  TermWalk(const Terms& terms, const Shape& shape) : terms_(terms), shape_(shape) {}

  absl::StatusOr<Sliced> Run() {
    for (size_t i = 0; i < terms_.begin.size(); ++i) BERTH_RETURN_IF_ERROR(Visit(i));
    while (axis_ < shape_.rank()) sliced_.kept.push_back(axis_++);
    return sliced_;
  }

 private:
  absl::Status Visit(size_t i) {
    const tfl::StridedSliceOptions& options = *terms_.options;
    if (Terms::Bit(options.ellipsis_mask(), i)) {
      // It stands for the axes that no other term names.
      int named = 0;
      for (size_t k = i + 1; k < terms_.begin.size(); ++k) {
        named += Terms::Bit(options.new_axis_mask(), k) ? 0 : 1;
      }
      while (axis_ < shape_.rank() - named) sliced_.kept.push_back(axis_++);
      return absl::OkStatus();
    }
    if (Terms::Bit(options.new_axis_mask(), i)) {
      sliced_.kept.push_back(-1);
      return absl::OkStatus();
    }
    if (axis_ >= shape_.rank()) {
      return InvalidArgument("term {} is beyond rank {}", i, shape_.rank());
    }
    return Terms::Bit(options.shrink_axis_mask(), i) ? Index(i) : Range(i);
  }

  absl::Status Index(size_t i) {
    const int64_t extent = shape_[axis_];
    const int64_t at = terms_.begin[i] + (terms_.begin[i] < 0 ? extent : 0);
    if (at < 0 || at >= extent) {
      return InvalidArgument("index {} of axis {} with extent {}", terms_.begin[i], axis_, extent);
    }
    Push(at, at + 1, 1);
    return absl::OkStatus();
  }

  absl::Status Range(size_t i) {
    const tfl::StridedSliceOptions& options = *terms_.options;
    const int64_t step = terms_.stride[i];
    if (step == 0) return InvalidArgument("stride 0 of axis {}", axis_);
    constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
    int64_t end = terms_.end[i];
    if (options.offset()) end += terms_.begin[i];
    const int64_t start =
        Terms::Bit(options.begin_mask(), i) ? (step > 0 ? 0 : kFar) : terms_.begin[i];
    if (Terms::Bit(options.end_mask(), i)) {
      end = step > 0 ? kFar : std::numeric_limits<int64_t>::min();
    }
    sliced_.kept.push_back(axis_);
    Push(start, end, step);
    return absl::OkStatus();
  }

  void Push(int64_t start, int64_t end, int64_t step) {
    sliced_.starts.push_back(start);
    sliced_.ends.push_back(end);
    sliced_.axes.push_back(axis_++);
    sliced_.steps.push_back(step);
  }

  const Terms& terms_;
  const Shape& shape_;
  int axis_ = 0;
  Sliced sliced_;
};

absl::StatusOr<Terms> ReadTerms(TfliteOpImport& op) {
  Terms terms;
  BERTH_ASSIGN_OR_RETURN(terms.options, op.GetOptions<tfl::StridedSliceOptions>());
  BERTH_ASSIGN_OR_RETURN(terms.begin, op.KnownInts(1, "begin"));
  BERTH_ASSIGN_OR_RETURN(terms.end, op.KnownInts(2, "end"));
  BERTH_ASSIGN_OR_RETURN(terms.stride, op.KnownInts(3, "strides"));
  if (terms.end.size() != terms.begin.size() || terms.stride.size() != terms.begin.size() ||
      terms.begin.size() > kMaxTerms) {
    return InvalidArgument("{} begins, {} ends, {} strides", terms.begin.size(), terms.end.size(),
                           terms.stride.size());
  }
  for (size_t i = 0; i < terms.begin.size(); ++i) {
    for (const int64_t value : {terms.begin[i], terms.end[i], terms.stride[i]}) {
      if (value < INT32_MIN || value > INT32_MAX) return InvalidArgument("{} is no int32", value);
    }
  }
  return terms;
}

}  // namespace

absl::Status StridedSlice(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(4, 4));
  BERTH_ASSIGN_OR_RETURN(const Terms terms, ReadTerms(op));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  const Shape shape = op.ShapeOf(x);
  BERTH_ASSIGN_OR_RETURN(const Sliced sliced, TermWalk(terms, shape).Run());
  BERTH_ASSIGN_OR_RETURN(
      const ValueId part,
      op.Apply(OpKind::kSlice, {x, op.Int64s(sliced.starts), op.Int64s(sliced.ends),
                                op.Int64s(sliced.axes), op.Int64s(sliced.steps)}));
  Ints extents;
  for (const int64_t axis : sliced.kept) {
    extents.push_back(axis < 0 ? 1 : op.ShapeOf(part)[static_cast<int>(axis)]);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Reshaped(part, extents));
  return op.SetMoved(0, 0, result);
}

}  // namespace berth::tfl_ops

#include "kernels/host_data_dependent.h"

#include <cstring>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "kernels/box_selection.h"
#include "kernels/comparable.h"
#include "kernels/unique.h"

namespace berth {
namespace {

constexpr int kMostAxes = 8;

int64_t ElementsOf(const Operand& operand) {
  return operand.stride_bytes[0] / DTypeBytes(operand.dtype);
}

// The product of extents that are none below 1, or nothing.
std::optional<int64_t> ElementCount(absl::Span<const int64_t> extents) {
  std::optional<int64_t> count = 1;
  for (const int64_t extent : extents) {
    if (extent < 1) return std::nullopt;
    count = count ? CheckedMul(*count, extent) : count;
  }
  return count;
}

float FloatOfBits(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

absl::Status OtherCount(const char* what, size_t found, int64_t expected) {
  return FailedPrecondition("{}: the data give {} results, the program has room for {}", what,
                            found, expected);
}

}  // namespace

void PackExtents(absl::Span<const int64_t> extents, int64_t* values) {
  for (size_t i = 0; i < extents.size(); ++i) values[i / 2] |= extents[i] << (32 * (i % 2));
}

absl::Status HostNonZero(const HostCall& call) {
  const Command& c = *call.command;
  const int64_t* values = c.params.host.values;
  const int64_t rank = values[4];
  std::vector<int64_t> extents;
  for (int64_t i = 0; i < rank && i < kMostAxes; ++i) {
    extents.push_back(values[i / 2] >> (32 * (i % 2)) & 0x7fffffff);
  }
  const auto elements = ElementCount(extents);
  if (rank < 1 || rank > kMostAxes || !elements || call.operands[0] == nullptr ||
      call.operands[1] == nullptr || ElementsOf(c.in0) != *elements ||
      c.out.dtype != DType::kInt64 || ElementsOf(c.out) % rank != 0) {
    return InvalidArgument("non_zero of {} axes: operands have other sizes", rank);
  }
  const int64_t count = ElementsOf(c.out) / rank;
  auto* const out = reinterpret_cast<int64_t*>(call.operands[0]);
  size_t found = 0;
  VisitDType(c.in0.dtype, [&]<typename T>() {
    const T* const in = reinterpret_cast<const T*>(call.operands[1]);
    for (int64_t i = 0; i < *elements; ++i) {
      if (Comparable(in[i]) == 0) continue;
      int64_t rest = i;
      for (int64_t axis = rank; axis-- > 0 && static_cast<int64_t>(found) < count;) {
        const int64_t extent = extents[static_cast<size_t>(axis)];
        out[axis * count + static_cast<int64_t>(found)] = rest % extent;
        rest /= extent;
      }
      ++found;
    }
  });
  if (static_cast<int64_t>(found) != count) return OtherCount("non_zero", found, count);
  return absl::OkStatus();
}

absl::Status HostNonMaxSuppression(const HostCall& call) {
  const Command& c = *call.command;
  const int64_t* values = c.params.host.values;
  BoxSelection selection;
  selection.batches = values[0];
  selection.classes = values[1];
  selection.boxes = values[2];
  selection.most_per_class = values[3];
  selection.iou_threshold = FloatOfBits(static_cast<uint64_t>(values[4]));
  selection.score_threshold = FloatOfBits(static_cast<uint64_t>(values[4]) >> 32);
  selection.has_score_threshold = (values[5] & 1) != 0;
  selection.is_centered = (values[5] & 2) != 0;
  const int64_t box_extents[] = {selection.batches, selection.boxes, 4};
  const int64_t score_extents[] = {selection.batches, selection.classes, selection.boxes};
  const auto boxes = ElementCount(box_extents), scores = ElementCount(score_extents);
  if (!boxes || !scores || call.operands[0] == nullptr || call.operands[1] == nullptr ||
      call.operands[2] == nullptr || c.in0.dtype != DType::kFloat32 ||
      c.in1.dtype != DType::kFloat32 || c.out.dtype != DType::kInt64 ||
      ElementsOf(c.in0) != *boxes || ElementsOf(c.in1) != *scores || ElementsOf(c.out) % 3 != 0) {
    return InvalidArgument("non_max_suppression of {} x {} x {}: operands have other sizes",
                           selection.batches, selection.classes, selection.boxes);
  }
  const auto* box_data = reinterpret_cast<const float*>(call.operands[1]);
  const auto* score_data = reinterpret_cast<const float*>(call.operands[2]);
  const auto selected = SelectBoxes(selection, {box_data, static_cast<size_t>(*boxes)},
                                    {score_data, static_cast<size_t>(*scores)});
  if (static_cast<int64_t>(selected.size()) * 3 != ElementsOf(c.out)) {
    return OtherCount("non_max_suppression", selected.size(), ElementsOf(c.out) / 3);
  }
  std::memcpy(call.operands[0], selected.data(), selected.size() * sizeof(selected[0]));
  return absl::OkStatus();
}

absl::Status HostUnique(const HostCall& call) {
  const Command& c = *call.command;
  const int64_t* values = c.params.host.values;
  const UniqueProblem problem{c.in0.dtype, values[0], values[1], values[2], values[3] != 0};
  const int64_t count = values[4];
  const int64_t extents[] = {problem.outer, problem.axis, problem.inner};
  const auto elements = ElementCount(extents);
  const auto is_list = [&](const Operand& operand, const std::byte* data, int64_t length) {
    return data == nullptr || (operand.dtype == DType::kInt64 && ElementsOf(operand) == length);
  };
  if (!elements || count < 1 || count > problem.axis || call.operands[1] == nullptr ||
      ElementsOf(c.in0) != *elements ||
      (call.operands[0] != nullptr &&
       (c.out.dtype != c.in0.dtype || ElementsOf(c.out) != *elements / problem.axis * count)) ||
      !is_list(c.in1, call.operands[2], count) || !is_list(c.in2, call.operands[3], problem.axis) ||
      !is_list(c.acc, call.operands[4], count)) {
    return InvalidArgument("unique of [{}, {}, {}], {} slices: operands have other sizes",
                           problem.outer, problem.axis, problem.inner, count);
  }
  const UniqueResult result = FindUnique(problem, call.operands[1]);
  if (static_cast<int64_t>(result.first.size()) != count) {
    return OtherCount("unique", result.first.size(), count);
  }
  const auto store = [](const std::vector<int64_t>& list, std::byte* target) {
    if (target != nullptr) std::memcpy(target, list.data(), list.size() * sizeof(list[0]));
  };
  store(result.first, call.operands[2]);
  store(result.inverse, call.operands[3]);
  store(result.counts, call.operands[4]);
  if (call.operands[0] == nullptr) return absl::OkStatus();
  const int64_t row_bytes = problem.inner * DTypeBytes(problem.dtype);
  for (int64_t o = 0; o < problem.outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = o * problem.axis + result.first[static_cast<size_t>(i)];
      std::memcpy(call.operands[0] + (o * count + i) * row_bytes,
                  call.operands[1] + from * row_bytes, static_cast<size_t>(row_bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace berth

// The graph of a dynamic model on disk: FlatBuffers tables (bundle.fbs) for its structure, the
// constants section for the bytes of its tensors, each 64-byte aligned and stored once.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace flatbuffers {
class FlatBufferBuilder;
template <typename T>
struct Offset;
}  // namespace flatbuffers

namespace berth {

namespace fb {
struct DynamicModel;
}

// What an attribute holds; numbers are frozen (they stand in bundles).
enum class AttributeKind : uint8_t {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kTensor = 6,
  kGraph = 7,
};

// Appends the bytes of all tensors to `constants`.
flatbuffers::Offset<fb::DynamicModel> PackDynamicModel(flatbuffers::FlatBufferBuilder& builder,
                                                       const DynamicModel& model,
                                                       std::vector<std::byte>& constants);

// DataLoss names the graph, table and index of what is wrong: unknown ops, ids, types or tensors
// out of range, operands missing, graphs nested too deep, values read before they are produced.
absl::StatusOr<DynamicModel> UnpackDynamicModel(const fb::DynamicModel& packed,
                                                absl::Span<const std::byte> constants);

// What holds for the graph of every dynamic model, whoever made it: VerifyGraph for it and the
// graphs in its attributes, inputs that agree with `declared`, and as many operands and results as
// each op takes.
absl::Status VerifyDynamicGraph(const Graph& graph);

// InvalidArgument names the range and what is wrong: no free dimension of the inputs has that name
// (those that there are stand in the message), a name comes twice, or it is not
// 1 <= low <= high <= kLargestExtent.
inline constexpr int64_t kLargestExtent = (int64_t{1} << 31) - 1;
absl::Status VerifyRanges(const Graph& graph, absl::Span<const DimRange> ranges);
// Names of the free dimensions of the inputs in their order, each once; unnamed ones are left out.
std::vector<std::string> FreeDimNames(const Graph& graph);

// The inputs of a dynamic model as it declares them; its outputs likewise, with the extents that
// are known of them (DynamicModel::outputs).
std::vector<TensorInfo> DescribeInputs(const DynamicModel& model);
std::vector<TensorInfo> DescribeOutputs(const DynamicModel& model);

// Inputs and outputs as the model declares them.
std::vector<TensorInfo> DescribeInterface(const Graph& graph, const std::vector<ValueId>& values);

}  // namespace berth

#include <map>

#include "base/checked_math.h"
#include "bundle_generated.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/dynamic_model.h"
#include "runtime/bundle/layout.h"

namespace berth {
namespace {

constexpr int64_t kTensorAlignmentBytes = 64;

template <typename T>
using Offset = flatbuffers::Offset<T>;

// The plan's own file stands on a page of the constants, so that it can be mapped like any other.
Offset<fb::MaximumPlan> PackMaximum(flatbuffers::FlatBufferBuilder& builder,
                                    const MaximumPlan& plan, std::vector<std::byte>& constants) {
  const std::vector<std::byte> file =
      plan.contents ? SerializeBundle(*plan.contents) : std::vector<std::byte>{};
  constants.resize(
      static_cast<size_t>(AlignUp(static_cast<int64_t>(constants.size()), kBundlePageBytes)));
  const size_t offset_bytes = constants.size();
  constants.insert(constants.end(), file.begin(), file.end());
  return fb::CreateMaximumPlan(builder, builder.CreateString(plan.refusal), plan.pool_bytes,
                               plan.pool_lower_bound_bytes, plan.makespan_cycles, offset_bytes,
                               file.size());
}

Offset<flatbuffers::Vector<Offset<fb::Dim>>> PackDims(flatbuffers::FlatBufferBuilder& builder,
                                                      const std::vector<Dim>& dims) {
  std::vector<Offset<fb::Dim>> packed;
  for (const Dim& dim : dims) {
    packed.push_back(fb::CreateDim(builder, dim.extent, builder.CreateString(dim.symbol)));
  }
  return builder.CreateVector(packed);
}

class Packer {
 public:
  Packer(flatbuffers::FlatBufferBuilder& builder, std::vector<std::byte>& constants)
      : builder_(builder), constants_(constants) {}

  Offset<fb::Graph> Pack(const Graph& graph) {
    std::vector<Offset<fb::GraphValue>> values;
    for (const Value& value : graph.values) values.push_back(Pack(value));
    std::vector<Offset<fb::GraphNode>> nodes;
    for (const Node& node : graph.nodes) nodes.push_back(Pack(node));
    std::vector<Offset<fb::GraphState>> states;
    for (const GraphState& state : graph.states) {
      const auto name = builder_.CreateString(state.name);
      Offset<fb::GraphTensor> initial;
      if (state.initial) initial = Pack(*state.initial);
      states.push_back(fb::CreateGraphState(builder_, name, static_cast<uint32_t>(state.input),
                                            static_cast<uint32_t>(state.output), initial));
    }
    const auto name = builder_.CreateString(graph.name);
    const auto value_list = builder_.CreateVector(values);
    const auto node_list = builder_.CreateVector(nodes);
    const auto inputs = Ids(graph.inputs), outputs = Ids(graph.outputs);
    return fb::CreateGraph(builder_, name, value_list, node_list, inputs, outputs,
                           builder_.CreateVector(states));
  }

 private:
  Offset<flatbuffers::Vector<int32_t>> Ids(const std::vector<ValueId>& ids) {
    std::vector<int32_t> numbers;
    for (const ValueId id : ids) numbers.push_back(static_cast<int32_t>(id));
    return builder_.CreateVector(numbers);
  }

  Offset<fb::GraphTensor> Pack(const Tensor& tensor) {
    const auto [stored, is_new] = offsets_.try_emplace(
        &tensor, AlignUp(static_cast<int64_t>(constants_.size()), kTensorAlignmentBytes));
    const int64_t offset_bytes = stored->second;
    if (is_new) {
      constants_.resize(static_cast<size_t>(offset_bytes));
      constants_.insert(constants_.end(), tensor.bytes().begin(), tensor.bytes().end());
    }
    return fb::CreateGraphTensor(builder_, static_cast<uint8_t>(tensor.dtype()),
                                 builder_.CreateVector(tensor.shape().extents()), offset_bytes);
  }

  Offset<fb::GraphValue> Pack(const Value& value) {
    const auto name = builder_.CreateString(value.name);
    Offset<fb::GraphTensor> constant;
    if (value.constant) constant = Pack(*value.constant);
    Offset<flatbuffers::Vector<int64_t>> extents;
    if (value.shape_known) extents = builder_.CreateVector(value.type.shape.extents());
    return fb::CreateGraphValue(builder_, name, static_cast<uint8_t>(value.type.dtype), extents,
                                value.rank_declared, PackDims(builder_, value.declared), constant);
  }

  Offset<fb::GraphNode> Pack(const Node& node) {
    std::vector<Offset<fb::GraphAttribute>> attributes;
    for (const auto& [name, value] : node.attributes.values()) {
      attributes.push_back(Pack(name, value));
    }
    const auto op = builder_.CreateString(std::string(OpName(node.kind)));
    const auto name = builder_.CreateString(node.name);
    const auto list = builder_.CreateVector(attributes);
    const auto inputs = Ids(node.inputs), outputs = Ids(node.outputs);
    return fb::CreateGraphNode(builder_, op, name, node.opset, static_cast<uint8_t>(node.layout),
                               list, inputs, outputs);
  }

  Offset<fb::GraphAttribute> Pack(const std::string& name, const AttributeValue& value) {
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::vector<std::string> strings;
    Offset<fb::GraphTensor> tensor;
    Offset<fb::Graph> graph;
    switch (static_cast<AttributeKind>(value.index())) {
      case AttributeKind::kInt:
        ints = {std::get<int64_t>(value)};
        break;
      case AttributeKind::kFloat:
        floats = {std::get<float>(value)};
        break;
      case AttributeKind::kString:
        strings = {std::get<std::string>(value)};
        break;
      case AttributeKind::kInts:
        ints = std::get<std::vector<int64_t>>(value);
        break;
      case AttributeKind::kFloats:
        floats = std::get<std::vector<float>>(value);
        break;
      case AttributeKind::kStrings:
        strings = std::get<std::vector<std::string>>(value);
        break;
      case AttributeKind::kTensor:
        tensor = Pack(*std::get<std::shared_ptr<const Tensor>>(value));
        break;
      case AttributeKind::kGraph:
        graph = Pack(*std::get<BodyGraph>(value).graph);
        break;
    }
    const auto packed_name = builder_.CreateString(name);
    const auto int_list = builder_.CreateVector(ints);
    const auto float_list = builder_.CreateVector(floats);
    const auto string_list = builder_.CreateVectorOfStrings(strings);
    return fb::CreateGraphAttribute(builder_, packed_name, static_cast<uint8_t>(value.index()),
                                    int_list, float_list, string_list, tensor, graph);
  }

  flatbuffers::FlatBufferBuilder& builder_;
  std::vector<std::byte>& constants_;
  std::map<const Tensor*, int64_t> offsets_;  // of those that are stored: bodies share tensors
};

// The kinds are the alternatives of AttributeValue in order.
static_assert(std::is_same_v<std::variant_alternative_t<7, AttributeValue>, BodyGraph>);
static_assert(std::variant_size_v<AttributeValue> == 8);

}  // namespace

flatbuffers::Offset<fb::DynamicModel> PackDynamicModel(flatbuffers::FlatBufferBuilder& builder,
                                                       const DynamicModel& model,
                                                       std::vector<std::byte>& constants) {
  const auto graph = Packer(builder, constants).Pack(*model.graph);
  std::vector<Offset<fb::DimRange>> ranges;
  for (const DimRange& range : model.ranges) {
    ranges.push_back(
        fb::CreateDimRange(builder, builder.CreateString(range.name), range.low, range.high));
  }
  std::vector<Offset<fb::OutputExtents>> outputs;
  for (const OutputExtents& output : model.outputs) {
    outputs.push_back(
        fb::CreateOutputExtents(builder, output.is_found, PackDims(builder, output.dims)));
  }
  Offset<fb::MaximumPlan> maximum;
  if (model.maximum) maximum = PackMaximum(builder, *model.maximum, constants);
  const auto range_list = builder.CreateVector(ranges);
  const auto output_list = builder.CreateVector(outputs);
  return fb::CreateDynamicModel(builder, graph, static_cast<uint8_t>(model.float_storage),
                                range_list, maximum, output_list);
}

}  // namespace berth

#include <cstring>
#include <map>

#include "bundle_generated.h"
#include "runtime/bundle/dynamic_model.h"
#include "runtime/bundle/layout.h"

namespace berth {
namespace {

constexpr int kDeepestGraph = 16;  // bodies within bodies
constexpr int kNewestOpset = 1 << 20;

absl::Status Broken(std::string_view graph, std::string_view table, size_t index,
                    std::string_view what) {
  return DataLoss("section 0 (metadata), graph '{}', {} {}: {}", graph.substr(0, 100), table, index,
                  what);
}

absl::StatusOr<std::vector<Dim>> UnpackDims(
    std::string_view graph, std::string_view table, size_t index,
    const flatbuffers::Vector<flatbuffers::Offset<fb::Dim>>& packed) {
  std::vector<Dim> dims;
  for (const fb::Dim* dim : packed) {
    if (dim->extent() < -1) {
      return Broken(graph, table, index, fmt::format("dimension {}", dim->extent()));
    }
    dims.push_back({dim->extent(), dim->symbol() == nullptr ? "" : dim->symbol()->str()});
  }
  return dims;
}

absl::StatusOr<std::vector<DimRange>> UnpackRanges(const fb::DynamicModel& packed,
                                                   const Graph& graph) {
  std::vector<DimRange> ranges;
  if (packed.ranges() == nullptr) return ranges;
  for (const fb::DimRange* range : *packed.ranges()) {
    ranges.push_back({range->name()->str(), range->low(), range->high()});
  }
  if (absl::Status status = VerifyRanges(graph, ranges); !status.ok()) {
    return DataLoss("section 0 (metadata), dynamic: {}", ToStd(status.message()));
  }
  return ranges;
}

absl::StatusOr<MaximumPlan> UnpackMaximum(const fb::MaximumPlan& packed,
                                          absl::Span<const std::byte> constants) {
  const int64_t pool_bytes = packed.pool_bytes(), bound_bytes = packed.pool_lower_bound_bytes();
  if (bound_bytes < 0 || pool_bytes < bound_bytes || packed.makespan_cycles() < 0) {
    return DataLoss(
        "section 0 (metadata), dynamic, maximum: a pool of {} bytes, at least {}, in {} cycles",
        pool_bytes, bound_bytes, packed.makespan_cycles());
  }
  const uint64_t offset = packed.bundle_offset_bytes(), size = packed.bundle_bytes();
  if (size > constants.size() || offset > constants.size() - size ||
      offset % kBundlePageBytes != 0) {
    return DataLoss(
        "section 0 (metadata), dynamic, maximum: {} bytes at {} of section 1 (constants), which "
        "has {}",
        size, offset, constants.size());
  }
  MaximumPlan plan{packed.refusal()->str(), pool_bytes, bound_bytes, packed.makespan_cycles()};
  plan.stored = constants.subspan(offset, size);
  return plan;
}

absl::StatusOr<std::vector<OutputExtents>> UnpackOutputs(const fb::DynamicModel& packed,
                                                         const Graph& graph) {
  std::vector<OutputExtents> outputs;
  if (packed.outputs() == nullptr) return outputs;
  for (const fb::OutputExtents* output : *packed.outputs()) {
    BERTH_ASSIGN_OR_RETURN(std::vector<Dim> dims,
                           UnpackDims(graph.name, "outputs", outputs.size(), *output->dims()));
    outputs.push_back({output->is_found(), std::move(dims)});
  }
  if (!outputs.empty() && outputs.size() != graph.outputs.size()) {
    return DataLoss("section 0 (metadata), dynamic: the extents of {} outputs, the graph has {}",
                    outputs.size(), graph.outputs.size());
  }
  return outputs;
}

class Unpacker {
 public:
  explicit Unpacker(absl::Span<const std::byte> constants) : constants_(constants) {}

  absl::StatusOr<Graph> Unpack(const fb::Graph& packed, int depth) {
    Graph graph;
    graph.name = packed.name()->str();
    if (depth > kDeepestGraph) {
      return Broken(graph.name, "depth", static_cast<size_t>(depth), "nested too deep");
    }
    for (const fb::GraphValue* value : *packed.values()) {
      BERTH_ASSIGN_OR_RETURN(Value unpacked, Unpack(graph, *value));
      graph.values.push_back(std::move(unpacked));
    }
    for (const fb::GraphNode* node : *packed.nodes()) {
      BERTH_ASSIGN_OR_RETURN(Node unpacked, Unpack(graph, *node, depth));
      graph.nodes.push_back(std::move(unpacked));
    }
    for (const int32_t id : *packed.inputs()) graph.inputs.push_back(static_cast<ValueId>(id));
    for (const int32_t id : *packed.outputs()) graph.outputs.push_back(static_cast<ValueId>(id));
    for (const fb::GraphState* state : *packed.states()) {
      GraphState unpacked{state->name()->str(), state->input(), state->output(), nullptr};
      if (state->initial() != nullptr) {
        BERTH_ASSIGN_OR_RETURN(unpacked.initial,
                               Unpack(graph, "states", graph.states.size(), *state->initial()));
      }
      graph.states.push_back(std::move(unpacked));
    }
    return graph;
  }

 private:
  absl::StatusOr<TensorType> TypeOf(const Graph& graph, std::string_view table, size_t index,
                                    uint8_t dtype, const flatbuffers::Vector<int64_t>& extents) {
    if (dtype == 0 || dtype >= kDTypeCount) {
      return Broken(graph.name, table, index, fmt::format("dtype {}", dtype));
    }
    auto shape = Shape::Create(std::vector<int64_t>(extents.begin(), extents.end()));
    if (!shape.ok()) return Broken(graph.name, table, index, ToStd(shape.status().message()));
    return TensorType{static_cast<DType>(dtype), *std::move(shape)};
  }

  absl::StatusOr<std::shared_ptr<const Tensor>> Unpack(const Graph& graph, std::string_view table,
                                                       size_t index,
                                                       const fb::GraphTensor& packed) {
    BERTH_ASSIGN_OR_RETURN(TensorType type,
                           TypeOf(graph, table, index, packed.dtype(), *packed.extents()));
    const int64_t size_bytes = type.ByteCount(), offset_bytes = packed.offset_bytes();
    const auto section_bytes = static_cast<int64_t>(constants_.size());
    if (offset_bytes < 0 || offset_bytes > section_bytes ||
        size_bytes > section_bytes - offset_bytes) {
      return Broken(graph.name, table, index,
                    fmt::format("a tensor of {} bytes at {} of {} bytes of constants", size_bytes,
                                offset_bytes, section_bytes));
    }
    std::shared_ptr<const Tensor>& known = tensors_[offset_bytes];
    if (known != nullptr && known->type() == type) return known;
    total_bytes_ += size_bytes;
    if (total_bytes_ > section_bytes) {
      return Broken(graph.name, table, index, "different tensors share bytes");
    }
    auto tensor = std::make_shared<Tensor>(std::move(type));
    if (size_bytes > 0) {
      std::memcpy(tensor->bytes().data(), constants_.data() + offset_bytes,
                  static_cast<size_t>(size_bytes));
    }
    known = tensor;
    return tensor;
  }

  absl::StatusOr<Value> Unpack(const Graph& graph, const fb::GraphValue& packed) {
    const size_t index = graph.values.size();
    Value value;
    value.name = packed.name()->str();
    value.rank_declared = packed.rank_declared();
    if (packed.declared() != nullptr) {
      BERTH_ASSIGN_OR_RETURN(value.declared,
                             UnpackDims(graph.name, "values", index, *packed.declared()));
    }
    if (packed.dtype() >= kDTypeCount) {
      return Broken(graph.name, "values", index, fmt::format("dtype {}", packed.dtype()));
    }
    value.type.dtype = static_cast<DType>(packed.dtype());
    if (packed.extents() != nullptr) {
      BERTH_ASSIGN_OR_RETURN(value.type,
                             TypeOf(graph, "values", index, packed.dtype(), *packed.extents()));
      value.shape_known = true;
    }
    if (packed.constant() != nullptr) {
      BERTH_ASSIGN_OR_RETURN(value.constant, Unpack(graph, "values", index, *packed.constant()));
    }
    return value;
  }

  absl::StatusOr<Node> Unpack(const Graph& graph, const fb::GraphNode& packed, int depth) {
    const size_t index = graph.nodes.size();
    Node node;
    const auto kind = OpFromName(packed.op()->str());
    if (!kind) {
      return Broken(graph.name, "nodes", index,
                    fmt::format("op '{}' is unknown", packed.op()->str().substr(0, 100)));
    }
    if (packed.opset() < 0 || packed.opset() > kNewestOpset ||
        packed.layout() > static_cast<uint8_t>(DataLayout::kNhwc)) {
      return Broken(graph.name, "nodes", index,
                    fmt::format("opset {}, layout {}", packed.opset(), packed.layout()));
    }
    node.kind = *kind;
    node.name = packed.name()->str();
    node.opset = packed.opset();
    node.layout = static_cast<DataLayout>(packed.layout());
    for (const fb::GraphAttribute* attribute : *packed.attributes()) {
      BERTH_ASSIGN_OR_RETURN(AttributeValue value, Unpack(graph, *attribute, depth));
      node.attributes.Set(attribute->name()->str(), std::move(value));
    }
    for (const int32_t id : *packed.inputs()) node.inputs.push_back(static_cast<ValueId>(id));
    for (const int32_t id : *packed.outputs()) node.outputs.push_back(static_cast<ValueId>(id));
    return node;
  }

  absl::StatusOr<AttributeValue> Unpack(const Graph& graph, const fb::GraphAttribute& packed,
                                        int depth) {
    const size_t index = graph.nodes.size();
    const auto ints = packed.ints();
    const auto floats = packed.floats();
    const auto strings = packed.strings();
    const auto missing = [&] {
      return Broken(graph.name, "nodes", index,
                    fmt::format("attribute '{}' of kind {} has no such value",
                                packed.name()->str().substr(0, 100), packed.kind()));
    };
    switch (static_cast<AttributeKind>(packed.kind())) {
      case AttributeKind::kInt:
        if (ints == nullptr || ints->size() != 1) return missing();
        return AttributeValue(int64_t{ints->Get(0)});
      case AttributeKind::kFloat:
        if (floats == nullptr || floats->size() != 1) return missing();
        return AttributeValue(floats->Get(0));
      case AttributeKind::kString:
        if (strings == nullptr || strings->size() != 1) return missing();
        return AttributeValue(strings->Get(0)->str());
      case AttributeKind::kInts:
        if (ints == nullptr) return missing();
        return AttributeValue(std::vector<int64_t>(ints->begin(), ints->end()));
      case AttributeKind::kFloats:
        if (floats == nullptr) return missing();
        return AttributeValue(std::vector<float>(floats->begin(), floats->end()));
      case AttributeKind::kStrings: {
        if (strings == nullptr) return missing();
        std::vector<std::string> list;
        for (const flatbuffers::String* text : *strings) list.push_back(text->str());
        return AttributeValue(std::move(list));
      }
      case AttributeKind::kTensor: {
        if (packed.tensor() == nullptr) return missing();
        BERTH_ASSIGN_OR_RETURN(auto tensor, Unpack(graph, "nodes", index, *packed.tensor()));
        return AttributeValue(std::move(tensor));
      }
      case AttributeKind::kGraph: {
        if (packed.graph() == nullptr) return missing();
        BERTH_ASSIGN_OR_RETURN(Graph body, Unpack(*packed.graph(), depth + 1));
        return AttributeValue(BodyGraph{std::make_shared<const Graph>(std::move(body))});
      }
    }
    return missing();
  }

  absl::Span<const std::byte> constants_;
  std::map<int64_t, std::shared_ptr<const Tensor>> tensors_;  // by offset: bodies share them
  int64_t total_bytes_ = 0;  // of tensors so far: a small file must not become a large graph
};

}  // namespace

absl::StatusOr<DynamicModel> UnpackDynamicModel(const fb::DynamicModel& packed,
                                                absl::Span<const std::byte> constants) {
  if (packed.float_storage() != static_cast<uint8_t>(DType::kFloat32) &&
      packed.float_storage() != static_cast<uint8_t>(DType::kFloat16) &&
      packed.float_storage() != static_cast<uint8_t>(DType::kBFloat16)) {
    return DataLoss("section 0 (metadata), dynamic: float storage {}", packed.float_storage());
  }
  BERTH_ASSIGN_OR_RETURN(Graph graph, Unpacker(constants).Unpack(*packed.graph(), 0));
  if (absl::Status status = VerifyDynamicGraph(graph); !status.ok()) {
    return DataLoss("section 0 (metadata): {}", ToStd(status.message()));
  }
  DynamicModel model;
  BERTH_ASSIGN_OR_RETURN(model.ranges, UnpackRanges(packed, graph));
  BERTH_ASSIGN_OR_RETURN(model.outputs, UnpackOutputs(packed, graph));
  if (packed.maximum() != nullptr) {
    BERTH_ASSIGN_OR_RETURN(model.maximum, UnpackMaximum(*packed.maximum(), constants));
  }
  model.graph = std::make_shared<const Graph>(std::move(graph));
  model.float_storage = static_cast<DType>(packed.float_storage());
  return model;
}

}  // namespace berth

#include "runtime/bundle/metadata.h"

#include "bundle_generated.h"
#include "runtime/bundle/dynamic_model.h"
#include "runtime/bundle/metadata_layout.h"
#include "runtime/bundle/search_tables.h"

namespace berth {
namespace {

absl::Status Broken(std::string_view table, size_t index, std::string_view what) {
  return DataLoss("section 0 (metadata), {} {}: {}", table, index, what);
}

template <typename Info>
absl::StatusOr<TensorType> ReadType(std::string_view table, size_t index, const Info& info) {
  if (info.dtype() == 0 || info.dtype() >= kDTypeCount) {
    return Broken(table, index, fmt::format("dtype {}", info.dtype()));
  }
  absl::StatusOr<Shape> shape =
      Shape::Create(std::vector<int64_t>(info.extents()->begin(), info.extents()->end()));
  if (!shape.ok()) return Broken(table, index, ToStd(shape.status().message()));
  return TensorType{static_cast<DType>(info.dtype()), *std::move(shape)};
}

absl::StatusOr<std::vector<TensorInfo>> ReadTensors(
    std::string_view table, const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>& list) {
  std::vector<TensorInfo> tensors;
  for (const fb::TensorInfo* info : list) {
    BERTH_ASSIGN_OR_RETURN(TensorType type, ReadType(table, tensors.size(), *info));
    tensors.push_back({info->name()->str(), std::move(type)});
  }
  return tensors;
}

// Whoever follows sources from a value comes to an end. Cost: O(values).
absl::Status CheckSources(const std::vector<ValueInfo>& values) {
  std::vector<size_t> walk_of(values.size(), SIZE_MAX);  // the walk that came by first
  for (size_t start = 0; start < values.size(); ++start) {
    auto at = static_cast<int64_t>(start);
    while (at >= 0 && walk_of[static_cast<size_t>(at)] == SIZE_MAX) {
      walk_of[static_cast<size_t>(at)] = start;
      at = values[static_cast<size_t>(at)].source;
    }
    if (at >= 0 && walk_of[static_cast<size_t>(at)] == start) {
      return Broken("values", static_cast<size_t>(at), "is a source of itself");
    }
  }
  return absl::OkStatus();
}

// Positions are checked, so that whoever explains the plan may use them as they are.
absl::Status ReadValues(const fb::Metadata& metadata, BundleContents& contents) {
  if (metadata.values() == nullptr) return absl::OkStatus();
  const size_t count = metadata.values()->size();
  for (const fb::ValueInfo* info : *metadata.values()) {
    const size_t index = contents.values.size();
    if (info->storage() > static_cast<uint8_t>(ValueStorage::kInPlace) || info->source() < -1 ||
        info->source() >= static_cast<int64_t>(count) ||
        info->region() >= contents.program.regions.size() || info->begin_op() > info->end_op() ||
        info->end_op() > contents.ops.size()) {
      return Broken("values", index,
                    fmt::format("storage {}, source {} of {}, region {} of {}, ops [{}, {}) of {}",
                                info->storage(), info->source(), count, info->region(),
                                contents.program.regions.size(), info->begin_op(), info->end_op(),
                                contents.ops.size()));
    }
    BERTH_ASSIGN_OR_RETURN(TensorType type, ReadType("values", index, *info));
    contents.values.push_back(
        {info->name()->str(), std::move(type), static_cast<ValueStorage>(info->storage()),
         info->source(), info->region(), info->slot(), info->offset_bytes(), info->span_bytes(),
         info->begin_op(), info->end_op(), info->note()->str()});
  }
  return CheckSources(contents.values);
}

// What a state is bound to is checked with the regions.
absl::Status ReadStates(const fb::Metadata& metadata, BundleContents& contents) {
  if (metadata.states() == nullptr) return absl::OkStatus();
  for (const fb::StateInfo* info : *metadata.states()) {
    StateInfo state{info->name()->str(), info->input(), info->output(), {}};
    if (info->initial() != nullptr) {
      const auto* first = reinterpret_cast<const std::byte*>(info->initial()->data());
      state.initial.assign(first, first + info->initial()->size());
    }
    contents.states.push_back(std::move(state));
  }
  return absl::OkStatus();
}

absl::Status ReadMemories(const fb::Metadata& metadata, BundleContents& contents) {
  for (const fb::MemoryPlan* plan : *metadata.memories()) {
    if (plan->status() > static_cast<uint8_t>(PlanStatus::kTimeout)) {
      return Broken("memories", contents.memories.size(), fmt::format("status {}", plan->status()));
    }
    contents.memories.push_back({plan->memory()->str(), plan->height_bytes(),
                                 plan->lower_bound_bytes(), plan->capacity_bytes(),
                                 plan->buffer_count(), static_cast<PlanStatus>(plan->status())});
  }
  return absl::OkStatus();
}

absl::Status ReadMachine(const fb::Metadata& metadata, TileProgram& program) {
  for (const fb::Engine* engine : *metadata.engines()) {
    if (engine->kind() > static_cast<uint8_t>(EngineKind::kHost)) {
      return Broken("engines", program.engines.size(), fmt::format("kind {}", engine->kind()));
    }
    program.engines.push_back(
        {engine->core(), static_cast<EngineKind>(engine->kind()), engine->index()});
  }
  for (const fb::Region* region : *metadata.regions()) {
    if (region->kind() > static_cast<uint8_t>(RegionKind::kOutput) || region->size_bytes() < 0) {
      return Broken("regions", program.regions.size(),
                    fmt::format("kind {}, {} bytes", region->kind(), region->size_bytes()));
    }
    program.regions.push_back(
        {region->size_bytes(), static_cast<RegionKind>(region->kind()), {}, region->index()});
  }
  program.scratchpad_bytes = metadata.scratchpad_bytes();
  program.accumulator_bytes = metadata.accumulator_bytes();
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadMetadata(absl::Span<const std::byte> bytes, absl::Span<const std::byte> constants,
                          BundleContents& contents) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 /*max_depth=*/64, MostTables(bytes.size()));
  if (!fb::VerifyMetadataBuffer(verifier)) {
    return DataLoss("section 0 (metadata): not a FlatBuffer of this schema ({} bytes)",
                    bytes.size());
  }
  const fb::Metadata& metadata = *fb::GetMetadata(bytes.data());
  BERTH_RETURN_IF_ERROR(CheckMetadataLayout(metadata, bytes.size()));
  contents.model_name = metadata.model_name()->str();
  absl::StatusOr<NpuConfig> config =
      ParseNpuConfig(ToStd({metadata.config_json()->data(), metadata.config_json()->size()}),
                     "section 0 (metadata), config");
  if (!config.ok()) return DataLoss("{}", ToStd(config.status().message()));
  contents.config = *std::move(config);
  BERTH_ASSIGN_OR_RETURN(contents.inputs, ReadTensors("inputs", *metadata.inputs()));
  BERTH_ASSIGN_OR_RETURN(contents.outputs, ReadTensors("outputs", *metadata.outputs()));
  for (const fb::OpInfo* op : *metadata.ops()) {
    contents.ops.push_back({op->name()->str(), op->kind()->str(), op->decision()->str(), op->macs(),
                            op->min_dram_bytes(), op->mapped_cycles()});
  }
  for (const flatbuffers::String* name : *metadata.buffer_names()) {
    contents.buffer_names.push_back(name->str());
  }
  BERTH_RETURN_IF_ERROR(ReadMachine(metadata, contents.program));
  BERTH_RETURN_IF_ERROR(ReadValues(metadata, contents));
  BERTH_RETURN_IF_ERROR(ReadSearch(metadata, contents));
  BERTH_RETURN_IF_ERROR(ReadStates(metadata, contents));
  BERTH_RETURN_IF_ERROR(ReadMemories(metadata, contents));
  contents.cycles_lower_bound = metadata.cycles_lower_bound();
  contents.cycles_lower_bound_mapped = metadata.cycles_lower_bound_mapped();
  contents.dram_bytes_lower_bound = metadata.dram_bytes_lower_bound();
  contents.compile_ms = metadata.compile_ms();
  if (metadata.dynamic() != nullptr) {
    BERTH_ASSIGN_OR_RETURN(contents.dynamic, UnpackDynamicModel(*metadata.dynamic(), constants));
    const Graph& graph = *contents.dynamic->graph;
    contents.inputs = DescribeInputs(*contents.dynamic);
    contents.outputs = DescribeOutputs(*contents.dynamic);
    contents.states.clear();
    for (const GraphState& state : graph.states) {
      contents.states.push_back({state.name,
                                 static_cast<uint32_t>(state.input),
                                 static_cast<uint32_t>(state.output),
                                 {}});
    }
  }
  return absl::OkStatus();
}

}  // namespace berth

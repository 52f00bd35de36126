#include <xxhash.h>

#include <cstring>

#include "base/checked_math.h"
#include "base/write_file.h"
#include "bundle_generated.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/dynamic_model.h"
#include "runtime/bundle/layout.h"
#include "runtime/bundle/search_tables.h"

namespace berth {
namespace {

flatbuffers::Offset<fb::TensorInfo> Pack(flatbuffers::FlatBufferBuilder& builder,
                                         const TensorInfo& info) {
  const auto name = builder.CreateString(info.name);
  const auto extents = builder.CreateVector(info.type.shape.extents());
  return fb::CreateTensorInfo(builder, name, static_cast<uint8_t>(info.type.dtype), extents);
}

flatbuffers::Offset<fb::OpInfo> Pack(flatbuffers::FlatBufferBuilder& builder, const OpInfo& info) {
  const auto name = builder.CreateString(info.name);
  const auto kind = builder.CreateString(info.kind);
  const auto decision = builder.CreateString(info.decision);
  return fb::CreateOpInfo(builder, name, kind, decision, info.macs, info.min_dram_bytes,
                          info.mapped_cycles);
}

flatbuffers::Offset<fb::ValueInfo> Pack(flatbuffers::FlatBufferBuilder& builder,
                                        const ValueInfo& info) {
  const auto name = builder.CreateString(info.name);
  const auto extents = builder.CreateVector(info.type.shape.extents());
  const auto note = builder.CreateString(info.note);
  return fb::CreateValueInfo(builder, name, static_cast<uint8_t>(info.type.dtype), extents,
                             static_cast<uint8_t>(info.storage), info.source, info.region,
                             info.slot, info.offset_bytes, info.span_bytes, info.begin_op,
                             info.end_op, note);
}

flatbuffers::Offset<fb::MemoryPlan> Pack(flatbuffers::FlatBufferBuilder& builder,
                                         const MemoryPlan& plan) {
  return fb::CreateMemoryPlan(builder, builder.CreateString(plan.memory), plan.height_bytes,
                              plan.lower_bound_bytes, plan.capacity_bytes, plan.buffer_count,
                              static_cast<uint8_t>(plan.status));
}

flatbuffers::Offset<fb::StateInfo> Pack(flatbuffers::FlatBufferBuilder& builder,
                                        const StateInfo& state) {
  const auto name = builder.CreateString(state.name);
  const auto initial = builder.CreateVector(reinterpret_cast<const uint8_t*>(state.initial.data()),
                                            state.initial.size());
  return fb::CreateStateInfo(builder, name, state.input, state.output, initial);
}

template <typename Result, typename Item>
auto PackAll(flatbuffers::FlatBufferBuilder& builder, const std::vector<Item>& items) {
  std::vector<flatbuffers::Offset<Result>> packed;
  for (const Item& item : items) packed.push_back(Pack(builder, item));
  return builder.CreateVector(packed);
}

// `graph_constants` get the tensors of a dynamic model's graph.
void PackMetadata(flatbuffers::FlatBufferBuilder& builder, const BundleContents& contents,
                  std::vector<std::byte>& graph_constants) {
  std::vector<fb::Engine> engines;
  for (const EngineId& engine : contents.program.engines) {
    engines.emplace_back(engine.core, static_cast<uint8_t>(engine.kind), engine.index);
  }
  std::vector<fb::Region> regions;
  for (const DramRegion& region : contents.program.regions) {
    regions.emplace_back(region.size_bytes, static_cast<uint8_t>(region.kind), region.index);
  }
  const auto model_name = builder.CreateString(contents.model_name);
  const auto config_json = builder.CreateString(ToJson(contents.config));
  const auto inputs = PackAll<fb::TensorInfo>(builder, contents.inputs);
  const auto outputs = PackAll<fb::TensorInfo>(builder, contents.outputs);
  const auto ops = PackAll<fb::OpInfo>(builder, contents.ops);
  const auto buffer_names = builder.CreateVectorOfStrings(contents.buffer_names);
  const auto engine_list = builder.CreateVectorOfStructs(engines);
  const auto region_list = builder.CreateVectorOfStructs(regions);
  const auto memories = PackAll<fb::MemoryPlan>(builder, contents.memories);
  const auto values = PackAll<fb::ValueInfo>(builder, contents.values);
  const auto states = PackAll<fb::StateInfo>(builder, contents.states);
  const auto segments = PackSegments(builder, contents.segments);
  const auto trials = PackTrials(builder, contents.trials);
  flatbuffers::Offset<fb::DynamicModel> dynamic;
  if (contents.dynamic) dynamic = PackDynamicModel(builder, *contents.dynamic, graph_constants);
  builder.Finish(fb::CreateMetadata(
      builder, model_name, config_json, inputs, outputs, ops, buffer_names, engine_list,
      region_list, memories, contents.program.scratchpad_bytes, contents.program.accumulator_bytes,
      contents.cycles_lower_bound, contents.dram_bytes_lower_bound, contents.compile_ms, values,
      states, contents.cycles_lower_bound_mapped, dynamic, segments, trials));
}

struct Section {
  SectionKind kind;
  const void* data;
  size_t size_bytes;
};

template <typename T>
Section SectionOf(SectionKind kind, const std::vector<T>& items) {
  return {kind, items.data(), items.size() * sizeof(T)};
}

std::vector<std::byte> JoinSections(const std::vector<Section>& sections, uint64_t fingerprint) {
  std::vector<SectionEntry> table;
  int64_t end_bytes = kBundlePageBytes;
  for (const Section& section : sections) {
    table.push_back({static_cast<uint32_t>(section.kind), 0, static_cast<uint64_t>(end_bytes),
                     section.size_bytes, XXH3_64bits(section.data, section.size_bytes)});
    end_bytes = AlignUp(end_bytes + static_cast<int64_t>(section.size_bytes), kBundlePageBytes);
  }
  FileHeader header;
  header.section_count = static_cast<uint32_t>(table.size());
  header.file_bytes = static_cast<uint64_t>(end_bytes);
  header.target_fingerprint = fingerprint;
  header.table_hash = XXH3_64bits(table.data(), table.size() * sizeof(SectionEntry));
  std::vector<std::byte> file(static_cast<size_t>(end_bytes));
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), table.size() * sizeof(SectionEntry));
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].size_bytes == 0) continue;
    std::memcpy(file.data() + table[i].offset_bytes, sections[i].data, sections[i].size_bytes);
  }
  return file;
}

}  // namespace

std::vector<std::byte> SerializeBundle(const BundleContents& contents) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::byte> graph_constants;
  PackMetadata(builder, contents, graph_constants);
  const std::vector<Section> sections = {
      {SectionKind::kMetadata, builder.GetBufferPointer(), builder.GetSize()},
      SectionOf(SectionKind::kConstants, contents.dynamic ? graph_constants : contents.constants),
      SectionOf(SectionKind::kCommands, contents.program.commands),
      SectionOf(SectionKind::kWaits, contents.program.waits),
      SectionOf(SectionKind::kSlots, contents.program.slots),
      SectionOf(SectionKind::kPredecessorCounts, contents.conflicts.predecessor_count),
      SectionOf(SectionKind::kSuccessorBegins, contents.conflicts.successor_begin),
      SectionOf(SectionKind::kSuccessors, contents.conflicts.successors),
  };
  return JoinSections(sections, Fingerprint(contents.config));
}

absl::Status WriteBundle(const std::string& path, const BundleContents& contents) {
  const std::vector<std::byte> bytes = SerializeBundle(contents);
  return WriteFile(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace berth

#include "runtime/bundle/search_tables.h"

#include <algorithm>

namespace berth {
namespace {

constexpr int64_t kMostPercent = 100;

fb::SegmentWay Pack(const SegmentWay& way) {
  return fb::SegmentWay(way.begin_op, way.end_op, way.parts, static_cast<int16_t>(way.spare_parts),
                        way.is_skewed, way.moves_in_place, way.resident_bytes, way.cost_cycles);
}

SegmentWay Unpack(const fb::SegmentWay& way) {
  return {way.begin_op(),  way.end_op(),         way.parts(),          way.spare_parts(),
          way.is_skewed(), way.moves_in_place(), way.resident_bytes(), way.cost_cycles()};
}

bool IsPossible(const SegmentWay& way, uint32_t end_op) {
  return way.end_op == end_op && way.begin_op < way.end_op && way.parts >= 1 &&
         way.spare_parts >= 0 && way.resident_bytes >= 0 && way.cost_cycles >= 0;
}

absl::Status ReadSegments(const fb::Metadata& metadata, BundleContents& contents) {
  if (metadata.segments() == nullptr) return absl::OkStatus();
  uint32_t next_op = 0;
  for (const fb::SegmentInfo* packed : *metadata.segments()) {
    SegmentInfo info;
    info.chosen = Unpack(*packed->chosen());
    info.costed = packed->costed();
    info.too_large = packed->too_large();
    info.ruled_out = packed->ruled_out();
    if (packed->others() != nullptr) {
      for (const fb::SegmentWay* other : *packed->others()) info.others.push_back(Unpack(*other));
    }
    const uint32_t end_op = info.chosen.end_op;
    const bool is_possible =
        info.chosen.begin_op == next_op && IsPossible(info.chosen, end_op) && info.costed >= 0 &&
        info.too_large >= 0 && info.ruled_out >= 0 &&
        info.others.size() <= SegmentInfo::kMostOthers &&
        std::all_of(info.others.begin(), info.others.end(),
                    [&](const SegmentWay& other) { return IsPossible(other, end_op); });
    if (!is_possible || end_op > contents.ops.size()) {
      return DataLoss(
          "section 0 (metadata), segments {}: ops [{}, {}) behind op {} of {}, {} parts, {} others",
          contents.segments.size(), info.chosen.begin_op, end_op, next_op, contents.ops.size(),
          info.chosen.parts, info.others.size());
    }
    next_op = end_op;
    contents.segments.push_back(std::move(info));
  }
  if (!contents.segments.empty() && next_op != contents.ops.size()) {
    return DataLoss("section 0 (metadata), segments {}: they end with op {} of {}",
                    contents.segments.size(), next_op, contents.ops.size());
  }
  return absl::OkStatus();
}

absl::Status ReadTrials(const fb::Metadata& metadata, BundleContents& contents) {
  if (metadata.trials() == nullptr) return absl::OkStatus();
  for (const fb::ScheduleTrial* packed : *metadata.trials()) {
    if (packed->makespan_cycles() < 0 || packed->dram_cycles() < 0 ||
        packed->tile_percent() > kMostPercent || packed->hoist_percent() > kMostPercent) {
      return DataLoss("section 0 (metadata), trials {}: {} and {} cycles, {} and {} percent",
                      contents.trials.size(), packed->makespan_cycles(), packed->dram_cycles(),
                      packed->tile_percent(), packed->hoist_percent());
    }
    ScheduleTrial trial;
    trial.is_reordered = packed->is_reordered();
    trial.bands_spread = packed->bands_spread();
    trial.has_resident = packed->has_resident();
    trial.tile_percent = packed->tile_percent();
    trial.hoist_percent = packed->hoist_percent();
    trial.is_chosen = packed->is_chosen();
    trial.makespan_cycles = packed->makespan_cycles();
    trial.dram_cycles = packed->dram_cycles();
    contents.trials.push_back(trial);
  }
  return absl::OkStatus();
}

}  // namespace

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SegmentInfo>>> PackSegments(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<SegmentInfo>& segments) {
  std::vector<flatbuffers::Offset<fb::SegmentInfo>> packed;
  for (const SegmentInfo& info : segments) {
    std::vector<fb::SegmentWay> others;
    for (const SegmentWay& other : info.others) others.push_back(Pack(other));
    flatbuffers::Offset<flatbuffers::Vector<const fb::SegmentWay*>> list;
    if (!others.empty()) list = builder.CreateVectorOfStructs(others);
    const fb::SegmentWay chosen = Pack(info.chosen);
    packed.push_back(
        fb::CreateSegmentInfo(builder, &chosen, info.costed, info.too_large, info.ruled_out, list));
  }
  return builder.CreateVector(packed);
}

flatbuffers::Offset<flatbuffers::Vector<const fb::ScheduleTrial*>> PackTrials(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<ScheduleTrial>& trials) {
  std::vector<fb::ScheduleTrial> packed;
  for (const ScheduleTrial& trial : trials) {
    packed.emplace_back(trial.makespan_cycles, trial.dram_cycles,
                        static_cast<uint8_t>(trial.tile_percent),
                        static_cast<uint8_t>(trial.hoist_percent), trial.is_reordered,
                        trial.bands_spread, trial.has_resident, trial.is_chosen);
  }
  return builder.CreateVectorOfStructs(packed);
}

absl::Status ReadSearch(const fb::Metadata& metadata, BundleContents& contents) {
  BERTH_RETURN_IF_ERROR(ReadSegments(metadata, contents));
  return ReadTrials(metadata, contents);
}

}  // namespace berth

// Memories for a program on its own, and a sanitized run over them.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "npu_sim/sanitizer.h"

namespace berth::testing_support {

// Bytes that are aligned as those of a context are.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t size_bytes) : bytes_(static_cast<size_t>(size_bytes) + 64) {}
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - address % 64) % 64;
  }

 private:
  std::vector<std::byte> bytes_;
};

// Constants and inputs hold small floats.
class ProgramMemories {
 public:
  explicit ProgramMemories(const ProgramView& program)
      : scratchpad_(program.scratchpad_bytes), accumulator_(program.accumulator_bytes) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const DramRegion& region : program.regions) {
      AlignedBytes& bytes = regions_.emplace_back(region.size_bytes);
      auto* floats = reinterpret_cast<float*>(bytes.data());
      for (int64_t i = 0; i < region.size_bytes / 4; ++i) floats[i] = uniform(random);
    }
    for (AlignedBytes& region : regions_) region_data_.push_back(region.data());
  }
  MemoryMap map() {
    MemoryMap map;
    map.scratchpad = scratchpad_.data();
    map.accumulator = accumulator_.data();
    map.regions = region_data_;
    return map;
  }

 private:
  AlignedBytes scratchpad_, accumulator_;
  std::vector<AlignedBytes> regions_;
  std::vector<std::byte*> region_data_;
};

inline SanitizerReport Sanitize(const TileProgram& program, const NpuConfig& config,
                                const SanitizerOptions& options = {}) {
  ProgramMemories memories(program.view());
  SanitizerReport report;
  const MemoryMap map = memories.map();
  (void)RunSanitized(program.view(), config, map, {}, options, report);
  return report;
}

inline bool HasFinding(const SanitizerReport& report, FindingKind kind) {
  for (const SanitizerFinding& finding : report.findings) {
    if (finding.kind == kind) return true;
  }
  return false;
}

inline std::string TextOf(const SanitizerReport& report) {
  std::string text;
  for (const SanitizerFinding& finding : report.findings) text += finding.text + "\n";
  return text;
}

}  // namespace berth::testing_support

// A tile program: the commands of one model for one machine, with everything that a proof of its
// safety needs. Plain data; `ProgramView` is what the machine reads, whether the bytes are owned
// (TileProgram) or mapped from a bundle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "npu_sim/command.h"

namespace berth {

// DRAM is a set of regions; a command names one by its position.
enum class RegionKind : uint8_t {
  kConstants = 0,  // read only, initialised
  kPool = 1,       // the arena: bytes belong to whichever slot is live
  kInput = 2,      // read only, initialised; bound by the caller
  kOutput = 3,     // bound by the caller; every byte is written by the end
};
struct DramRegion {
  int64_t size_bytes = 0;
  RegionKind kind = RegionKind::kConstants;
  uint8_t reserved[3] = {};
  uint32_t index = 0;  // which input or output
};
static_assert(sizeof(DramRegion) == 16);

// The lease of a byte range: between commands [begin_command, end_command) of the list the bytes
// hold this buffer and nothing else. At its beginning the bytes count as unwritten. Slots exist for
// the pool, the scratchpad and the accumulators. Two slots that overlap in bytes do not overlap in
// commands.
struct Slot {
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;
  uint32_t begin_command = 0;
  uint32_t end_command = 0;
  uint32_t name = 0;    // position in the bundle's table of buffer names (for messages only)
  uint16_t region = 0;  // DRAM only
  MemorySpace space = MemorySpace::kNone;
  uint8_t reserved = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};
static_assert(sizeof(Slot) == 32);

struct ProgramView {
  absl::Span<const EngineId> engines;
  absl::Span<const DramRegion> regions;
  absl::Span<const Command> commands;
  absl::Span<const Wait> waits;
  absl::Span<const Slot> slots;
  int64_t scratchpad_bytes = 0;  // highest byte used + 1
  int64_t accumulator_bytes = 0;
};

struct TileProgram {
  std::vector<EngineId> engines;
  std::vector<DramRegion> regions;
  std::vector<Command> commands;
  std::vector<Wait> waits;
  std::vector<Slot> slots;
  int64_t scratchpad_bytes = 0;
  int64_t accumulator_bytes = 0;

  ProgramView view() const {
    return {engines, regions, commands, waits, slots, scratchpad_bytes, accumulator_bytes};
  }
};

// The engines of one core of a machine with `dma_channels` channels, in the order of every report:
// dma0.., matrix, vector, host.
std::vector<EngineId> CoreEngines(int dma_channels, int core = 0);
std::string_view EngineKindName(EngineKind kind);  // "dma", "matrix", "vector", "host"
std::string EngineName(const EngineId& engine);    // "dma0", "matrix", "vector", "host"; "1.dma0"

// The program as text, a command a line (docs/program.md); npu_sim/program_text.h reads it back.
std::string DumpProgram(const ProgramView& program);
std::string DumpCommand(const ProgramView& program, size_t index);

}  // namespace berth

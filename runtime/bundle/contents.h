// What a bundle says, as plain data: the planner fills it, WriteBundle freezes it on disk, and
// ReadBundle gives it back over mapped bytes (docs/bundle.md draws the layout).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "npu_sim/config.h"
#include "npu_sim/conflict_graph.h"
#include "npu_sim/program.h"

namespace berth {

// An input or output of the model, in the model's order. Caller's buffers are dense row-major.
struct TensorInfo {
  std::string name;
  TensorType type;
};

// One op of the planned graph: Command::op is a position in this table.
struct OpInfo {
  std::string name;      // of the node
  std::string kind;      // "Conv+Relu"
  std::string decision;  // tile and storage decisions, for people: "tile 14x28x64x256", "view"
  int64_t macs = 0;
  int64_t min_dram_bytes = 0;  // its weights, inputs and outputs once
};

enum class PlanStatus : uint8_t { kFeasible = 0, kOptimal = 1, kInfeasible = 2, kTimeout = 3 };

// How well one memory was packed: the height beside its lower bound.
struct MemoryPlan {
  std::string memory;  // "pool", "scratchpad", "accumulator"
  int64_t height_bytes = 0;
  int64_t lower_bound_bytes = 0;
  int64_t capacity_bytes = 0;  // 0: no limit
  int64_t buffer_count = 0;
  PlanStatus status = PlanStatus::kFeasible;
};

struct BundleContents {
  std::string model_name;
  NpuConfig config;
  TileProgram program;
  ConflictGraph conflicts;           // what the executor may run in parallel
  std::vector<std::byte> constants;  // the constants region
  std::vector<TensorInfo> inputs, outputs;
  std::vector<OpInfo> ops;
  std::vector<std::string> buffer_names;  // Slot::name
  std::vector<MemoryPlan> memories;
  // Neighbours of the simulated figures: MACs at the full array rate of their dtype against
  // compulsory DRAM bytes at peak bandwidth; weights once + inputs + outputs.
  int64_t cycles_lower_bound = 0;
  int64_t dram_bytes_lower_bound = 0;
  double compile_ms = 0;
};

}  // namespace berth

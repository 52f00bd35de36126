// What a bundle says, as plain data: the planner fills it, WriteBundle freezes it on disk, and
// ReadBundle gives it back over mapped bytes (docs/bundle.md draws the layout).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/tensor.h"
#include "kernels/graph.h"
#include "npu_sim/config.h"
#include "npu_sim/conflict_graph.h"
#include "npu_sim/program.h"

namespace berth {

// An input or output of the model, in the model's order. Caller's buffers are dense row-major.
struct TensorInfo {
  std::string name;
  TensorType type;
  // The shape is known when the model runs (dynamic models only): `type.shape` says nothing then,
  // `dims` what the model declares.
  bool has_free_shape = false;
  bool has_declared_rank = false;
  std::vector<Dim> dims = {};
};
// "float32[Nx3xHx640]": what the model says of the tensor.
std::string DescribeTensor(const TensorInfo& info);

// A state that a context keeps from run to run: what a run writes as output `output` is what the
// next one reads as input `input` (positions in the lists above, one type for both). The caller
// sees neither of them.
struct StateInfo {
  std::string name;
  uint32_t input = 0, output = 0;
  // What it holds at first and after a reset. Empty: zeros; one element: that, repeated; else all.
  std::vector<std::byte> initial;
};

// One op of the planned graph: Command::op is a position in this table.
struct OpInfo {
  std::string name;      // of the node
  std::string kind;      // "Conv+Relu"
  std::string decision;  // tile and storage decisions, for people: "tile 14x28x64x256", "view"
  int64_t macs = 0;
  int64_t min_dram_bytes = 0;  // its weights, inputs and outputs once
  int64_t mapped_cycles = 0;   // of the matrix unit, the whole op mapped onto the array at once
};

// How a value came to its bytes in DRAM.
enum class ValueStorage : uint8_t {
  kOwn = 0,      // a buffer of its own
  kView = 1,     // a strided view of the source: no bytes move
  kPart = 2,     // computed straight into its part of the source (a concat operand, for example)
  kInPlace = 3,  // written over the source, element by element, as the source dies
};

// A value of the planned graph that stands in DRAM (constants excepted).
struct ValueInfo {
  std::string name;
  TensorType type;
  ValueStorage storage = ValueStorage::kOwn;
  int32_t source = -1;       // position among the values; -1 for kOwn
  uint16_t region = 0;       // position in the program's regions
  uint32_t slot = kNoSlot;   // pool: the slot that holds it; values of one slot share its bytes
  int64_t offset_bytes = 0;  // of element 0, in its region
  int64_t span_bytes = 0;    // from element 0 to the end of the last element
  // Positions in the table of ops between which its bytes are needed, half open: from the op that
  // makes it to its last reader, through views; inputs begin at 0, outputs end with the last op.
  uint32_t begin_op = 0, end_op = 0;
  std::string note;  // why it has bytes of its own: what stopped sharing, for people
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

// How good the order of ops is: the most bytes live at once in it, in the model's own order, and in
// no order fewer.
struct OrderSummary {
  int64_t model_peak_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t lower_bound_bytes = 0;
};

// How a float32 model was stored at half size, as the planner says it for people.
struct FloatStorage {
  DType dtype = DType::kFloat32;
  int64_t narrowed_values = 0, narrowed_constants = 0;
  std::vector<std::string> kept_in_float32;  // "Conv 'a': why"
};

// Sizes that a named free dimension of the inputs may take, both ends included.
struct DimRange {
  std::string name;
  int64_t low = 1, high = 1;
};

// The static plan of a dynamic model with every free dimension at the end of its range: the most
// that a run may need, as the planner found it. Where it was not found `refusal` says why, and the
// figures are 0.
struct BundleContents;
struct MaximumPlan {
  std::string refusal;
  int64_t pool_bytes = 0;
  int64_t pool_lower_bound_bytes = 0;
  int64_t makespan_cycles = 0;  // simulated
  // The plan itself, without states: as it was made, or its file within the one that was read
  // (Bundle::maximum has it open).
  std::shared_ptr<const BundleContents> contents = nullptr;
  absl::Span<const std::byte> stored = {};
};

// An output in terms of the inputs' dimensions, as probing found it
// (planner/symbolic_extents.h): a size, or a text such as "floor((H-1)/2)+1". For people: nothing
// is decided by it.
struct OutputExtents {
  bool is_found = false;  // else the model's own description holds
  std::vector<Dim> dims;
};

// A model whose shapes, or the values that they hang on, are only known when it runs: the graph as
// the model has it, constants folded, from which the runtime makes a program for every shape that
// comes (docs/dynamic.md). Nodes have no tails.
struct DynamicModel {
  std::shared_ptr<const Graph> graph;
  DType float_storage = DType::kFloat32;  // kFloat16, kBFloat16: floats are stored at half size
  std::vector<DimRange> ranges;           // of some or all free dimensions, each at most once
  std::optional<MaximumPlan> maximum;     // where all are bounded
  std::vector<OutputExtents> outputs;     // one for each output, or none
};

// A way to compute a run of ops together, and what it costs by the planner's search.
struct SegmentWay {
  uint32_t begin_op = 0, end_op = 0;  // positions in the table of ops, half open
  int32_t parts = 1;                  // > 1: bands of rows on chip, part by part
  int32_t spare_parts = 0;            // see Segment (planner/storage/on_chip_plan.h)
  bool is_skewed = false, moves_in_place = false;
  int64_t resident_bytes = 0;  // of values that stay on chip behind it
  int64_t cost_cycles = 0;     // what the search minimises, from the first op to the end of this
};

// What was chosen for a run of ops, and what else was tried that ends with the same op.
struct SegmentInfo {
  static constexpr size_t kMostOthers = 3;

  SegmentWay chosen;
  int64_t costed = 0;              // ways that were worked out
  int64_t too_large = 0;           // that did not fit
  int64_t ruled_out = 0;           // that could not be better, by their bound
  std::vector<SegmentWay> others;  // the cheapest but for the chosen one
};

// A whole plan that was placed, emitted and timed.
struct ScheduleTrial {
  bool is_reordered = false;  // in the order that keeps readers near
  bool bands_spread = false;  // of the search that believes that bands of rows spread
  bool has_resident = true;   // with values or rows on chip between ops
  int32_t tile_percent = 0;   // of the scratchpad, that the buffers of a tile may take
  int32_t hoist_percent = 0;  // likewise, that may be live when loads are hoisted; 0: none are
  bool is_chosen = false;
  int64_t makespan_cycles = 0;  // 0: it found no places
  int64_t dram_cycles = 0;      // its bytes at the peak rate
};

struct BundleContents {
  std::string model_name;
  NpuConfig config;
  TileProgram program;
  ConflictGraph conflicts;                  // what the executor may run in parallel
  std::vector<std::byte> constants;         // the constants region
  std::vector<TensorInfo> inputs, outputs;  // of the program, states included
  std::vector<StateInfo> states;
  std::vector<OpInfo> ops;
  std::vector<ValueInfo> values;          // in order of the graph
  std::vector<std::string> buffer_names;  // Slot::name
  std::vector<MemoryPlan> memories;
  // How the plan was found: one segment behind the other over all ops, and what was timed. Both
  // empty where nobody said so.
  std::vector<SegmentInfo> segments;
  std::vector<ScheduleTrial> trials;
  // Neighbours of the simulated figures: MACs at the full array rate of their dtype against
  // compulsory DRAM bytes at peak bandwidth; weights once + inputs + outputs.
  int64_t cycles_lower_bound = 0;
  // The same with the array's real folding of every op and the depthwise rate; never lower.
  int64_t cycles_lower_bound_mapped = 0;
  int64_t dram_bytes_lower_bound = 0;
  double compile_ms = 0;
  std::optional<OrderSummary> order;    // of a plan that was just made; not written to the file
  std::optional<FloatStorage> floats;   // likewise, where the plan narrowed floats
  std::optional<DynamicModel> dynamic;  // set: the program is empty
};

}  // namespace berth

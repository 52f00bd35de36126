// Which bytes of which DRAM region each value of the graph stands in: views at offsets, in-place,
// and the buffers that are left to place in the pool.
#pragma once

#include <string>
#include <vector>

#include "kernels/graph.h"
#include "kernels/tile_builder.h"
#include "npu_sim/program.h"
#include "planner/storage/on_chip_plan.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Where the bytes of a buffer stand while the program runs.
enum class StorageHome : uint8_t {
  kDram,        // in its region
  kScratchpad,  // whole in scratchpad, from its first write to its last read
  kRows,        // a few rows at a time in scratchpad, inside one striped segment
};

// Bytes that are placed as one: a constant, an input, an output, or a range of the pool.
struct StorageBuffer {
  RegionKind kind = RegionKind::kPool;
  uint32_t index = 0;  // of inputs and outputs
  int64_t size_bytes = 0;
  StorageHome home = StorageHome::kDram;  // another than kDram only in the pool
  std::string name;                       // of the value that made it
  // Pool only: positions of nodes between which the bytes are needed, half open.
  int begin_step = 0;
  int end_step = 0;
  int64_t offset_bytes = 0;  // in its region, once placed
};

// Whether the buffer takes bytes of the pool.
inline bool IsInPool(const StorageBuffer& buffer) {
  return buffer.kind == RegionKind::kPool && buffer.home == StorageHome::kDram &&
         buffer.end_step > 0;
}

// A value is a strided view of its buffer.
struct StoragePlace {
  int buffer = -1;  // -1: the value needs no bytes (no elements, or never materialised)
  int64_t offset_bytes = 0;
  Extents stride_bytes;
};

// How a node came to its output.
enum class NodeStorage : uint8_t {
  kComputed,  // lowered to commands
  kView,      // the output is a view of an input, or the inputs are views of the output: no command
};

// How a value came to its bytes, and why not to others.
struct StorageOrigin {
  ValueStorage how = ValueStorage::kOwn;
  ValueId source = ValueId::kNone;  // whose bytes they are; none for kOwn
  std::string note;                 // what stopped sharing; only where StorageOptions::explain
};

struct StoragePlan {
  std::vector<StorageBuffer> buffers;
  std::vector<StoragePlace> places;    // per value
  std::vector<StorageOrigin> origins;  // per value
  std::vector<NodeStorage> nodes;      // per node
  std::vector<int> last_use;           // per value: the last node that reads it, through views; -1
};

struct StorageOptions {
  bool views = true;
  bool in_place = true;
  bool explain = false;  // notes cost time
  // Null: nothing is on chip. Values share bytes in place only with values of the same home, and
  // not within striped segments; what a striped segment touches lives throughout it.
  const OnChipPlan* on_chip = nullptr;
};

// Gives every graph output a value of its own (a copy where the output is an input, a constant or
// twice the same) and every concat operand that cannot be written in place a copy that can. Call
// before AssignStorage; types stay known.
void SeparateOutputs(Graph& graph);
void SeparateConcatOperands(Graph& graph);

// Constants stand 64-byte aligned in the constants region, in order of values. The pool is not
// placed yet (offset_bytes 0).
StoragePlan AssignStorage(const Graph& graph, const StorageOptions& options = {});

// Operands whose elements are read where output 0 writes the same element: their bytes may become
// the output's where they die at this node. In the order of the op's in-place rule, then of its
// fused tail.
std::vector<ValueId> InPlaceCandidates(const Graph& graph, const Node& node);

// Most bytes of pool buffers live at one step.
int64_t PeakLiveBytes(const StoragePlan& plan);

// Stable text: one line per value.
std::string DumpStorage(const Graph& graph, const StoragePlan& plan);

}  // namespace berth

// What an op is, once: shape rule, in-place rule, how it expands into simpler ops, its iteration
// space, and how it becomes commands with given tile decisions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "kernels/graph.h"
#include "npu_sim/config.h"

namespace berth {

class TileBuilder;
struct ValuePlacement;

struct IndexRange {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t end() const { return begin + count; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// The part of output 0 that one call computes: a range along one axis, all of the others.
struct OutputPart {
  int axis = -1;  // < 0: the whole output
  IndexRange range;
  bool is_whole() const { return axis < 0; }
};

// One use of an op: the node with the types of its operands.
struct OpCall {
  const Node* node = nullptr;
  absl::Span<const TensorType> inputs;        // dtype kUndefined where absent
  absl::Span<const Tensor* const> constants;  // values of inputs known at compile time, or null
  absl::Span<const TensorType> outputs;       // before the tail; empty in a TypeRule
  // Types of the tail's operands in order of use, flow positions left out (empty in a TypeRule).
  absl::Span<const TensorType> tail_inputs;
  // Where only a part is computed, output 0 has the part's extent; inputs are whole.
  OutputPart part = {};
  // Operands that stand in scratchpad as they are read need no tile (empty: none does), and neither
  // does output 0 where it is computed in its place.
  absl::Span<const bool> inputs_on_chip = {};
  absl::Span<const bool> tail_on_chip = {};
  bool output_on_chip = false;

  bool IsOnChip(int i) const {
    return i < static_cast<int>(inputs_on_chip.size()) && inputs_on_chip[static_cast<size_t>(i)];
  }
  bool HasInput(int i) const {
    return i < static_cast<int>(inputs.size()) &&
           inputs[static_cast<size_t>(i)].dtype != DType::kUndefined;
  }
  const TensorType& input(int i) const { return inputs[static_cast<size_t>(i)]; }
  const TensorType& output(int i = 0) const { return outputs[static_cast<size_t>(i)]; }
  // The compile-time value of input i, or null.
  const Tensor* Constant(int i) const {
    return i < static_cast<int>(constants.size()) ? constants[static_cast<size_t>(i)] : nullptr;
  }
};

// Types of all outputs of the node (as many as node->outputs), tail not counted. InvalidArgument
// for a model error (message without the node's name: the caller adds it), Unimplemented where the
// op, attribute or dtype is outside what Berth does, FailedPrecondition where a value is needed
// that is not known at compile time.
using TypeRule = absl::StatusOr<std::vector<TensorType>> (*)(const OpCall& call);

// Inputs whose bytes output 0 may take over when they die here (same element count and width, read
// and written element by element).
using InPlaceRule = std::vector<int> (*)(const OpCall& call);

// What a range of outputs along one axis reads of an input: a range along one axis of that.
struct PartRead {
  int axis = 0;  // of the input
  IndexRange range;
};
// What outputs `outputs` along `axis` read of input `input`; `call` is of the whole output. Nothing
// where the op cannot be computed in such parts.
using PartRule = std::optional<PartRead> (*)(const OpCall& call, int input, int axis,
                                             IndexRange outputs);
// All of an input that has other axes, as far as `axis` goes.
PartRead WholeRead(const Shape& input, int axis);

// Rewrites the node into simpler nodes appended to `rewrite` (kernels/rewrite.h); used by the
// planner before lowering. Null for an op that lowers itself.
class GraphRewriter;
using ExpandRule = absl::Status (*)(const OpCall& call, GraphRewriter& rewrite);
// For an op that expands in some forms only (legacy broadcasting, mixed dtypes).
using ExpandsRule = bool (*)(const OpCall& call);

// What the vector unit does to a tile of an elementwise op (kernels/vector_steps.h).
struct ElementwiseUse;
struct VectorSteps;
using StepRule = absl::StatusOr<VectorSteps> (*)(const ElementwiseUse& use);

// The loops of an op over its output (and reduction). A tile shape gives each loop an extent.
struct LoopDim {
  const char* name = "";
  int64_t extent = 1;
  int64_t granule = 1;   // a tile extent is a multiple of this, or the whole extent
  int shrink_order = 0;  // the default decision shrinks the lowest order first; < 0: never
};
using IterationSpace = std::vector<LoopDim>;
using TileShape = std::vector<int64_t>;

struct TileCost {
  int64_t scratchpad_bytes = 0;  // of one tile's buffers, each counted once
  int64_t accumulator_bytes = 0;
};
// What a tile may take, and the machine that it should suit.
struct TileBudget {
  int64_t scratchpad_bytes = 0;
  int64_t accumulator_bytes = 0;
  const NpuConfig& machine;
  // Sums of floats stay whole, in the order of their operands, if at all possible: partial sums
  // round otherwise.
  bool whole_sums = false;
  // What every command counts beside its work: more than 0 where programs should be short because
  // it takes time to make them.
  int64_t command_cycles = 0;
};
// ResourceExhausted: the smallest tile costs `least` where only `available` is there.
absl::Status TileTooLarge(const TileCost& least, const TileBudget& available);

using SpaceRule = IterationSpace (*)(const OpCall& call);
using CostRule = TileCost (*)(const OpCall& call, const TileShape& tile);
// An op's own default decision, where the order of shrinking alone does not find good tiles.
using ChooseRule = absl::StatusOr<TileShape> (*)(const OpCall& call, const TileBudget& budget);
// Appends the commands of the whole op, tile by tile, tail included.
using LowerRule = absl::Status (*)(const OpCall& call, const TileShape& tile, TileBuilder& builder);

// Where an op only renames or re-strides bytes, the planner may make it a view and emit nothing.
enum class ViewKind : uint8_t { kNone, kReshape /* same bytes */, kSlice, kConcat, kSplit };

struct OpDef {
  OpKind kind;
  TypeRule infer_types = nullptr;
  ExpandRule expand = nullptr;
  InPlaceRule in_place = nullptr;  // null: never
  PartRule part = nullptr;         // null: only the whole output is computed
  SpaceRule iteration_space = nullptr;
  CostRule tile_cost = nullptr;
  LowerRule lower = nullptr;  // null: expands, or is folded at compile time
  ViewKind view = ViewKind::kNone;
  bool elementwise = false;          // may stand in another node's tail
  ExpandsRule expands = nullptr;     // null: every use expands if `expand` is set
  StepRule vector_steps = nullptr;   // set for every elementwise op
  ChooseRule choose_tile = nullptr;  // null: DefaultTile halves the loops
  bool needs_dense = false;          // of its values: no strided places (host calls)
};

// Whether this use of the op is to be rewritten by `expand` before lowering.
inline bool NeedsExpansion(const OpDef& op, const OpCall& call) {
  return op.expand != nullptr && (op.expands == nullptr || op.expands(call));
}

const OpDef& GetOpDef(OpKind kind);

// The op's own cost, with the stored form of operands that are read as floats (read_scale.h).
TileCost TileCostOf(const OpDef& op, const OpCall& call, const TileShape& tile);

// The default decision: the op's own, or the full extents with the loops halved in shrink order
// until the tile costs at most the budget.
// ResourceExhausted (with the smallest tile's bytes) when even the smallest tile does not fit.
absl::StatusOr<TileShape> DefaultTile(const OpDef& op, const OpCall& call,
                                      const TileBudget& budget);

// Types of the operands of a node in a graph whose shapes are known; keeps the storage alive.
class NodeCall {
 public:
  NodeCall(const Graph& graph, const Node& node);
  // A part of the node's output, with its operands where `placements` (per value) says.
  NodeCall(const Graph& graph, const Node& node, const OutputPart& part,
           absl::Span<const ValuePlacement> placements);
  NodeCall(const NodeCall&) = delete;
  NodeCall& operator=(const NodeCall&) = delete;
  const OpCall& call() const { return call_; }

 private:
  void SetOnChip(const Graph& graph, absl::Span<const ValuePlacement> placements);

  std::vector<TensorType> inputs_, outputs_, tail_inputs_;
  absl::InlinedVector<bool, 4> inputs_on_chip_, tail_on_chip_;
  std::vector<const Tensor*> constants_;
  OpCall call_;
};

// Applies every node's type rule in order and fills Value::type; checks declared shapes against
// them. Errors name the node ("Conv 'conv1'").
absl::Status InferTypes(Graph& graph);
// The same for one node of the graph.
absl::Status InferTypesOf(Graph& graph, const Node& node);
// One node; Unimplemented/InvalidArgument annotated with op and node name.
absl::StatusOr<std::vector<TensorType>> InferNodeTypes(const Graph& graph, const Node& node);

}  // namespace berth

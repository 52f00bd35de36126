// Graph: the plain data type of ops and values. Importers make it, passes rewrite it, the kernels
// give each node its shapes and its commands.
//
// Invariants (checked by VerifyGraph): nodes stand in topological order; a value has at most one
// producer; ids are in range; a constant has no producer; every output is produced, an input or a
// constant; an input or output belongs to one state at most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace berth {

enum class OpKind : uint16_t {
#define BERTH_OP(name) k##name,
#include "kernels/op_list.inc"
#undef BERTH_OP
  kCount
};
std::string_view OpName(OpKind kind);
std::optional<OpKind> OpFromName(std::string_view name);

enum class ValueId : int32_t { kNone = -1 };
constexpr size_t Index(ValueId id) { return static_cast<size_t>(id); }

struct Graph;

// What If, Loop and Scan run. No mere pointer: libstdc++ 12 takes a variant of numbers, strings,
// vectors and smart pointers alone for one that always holds a value, and crashes where the copy of
// one runs out of memory.
struct BodyGraph {
  std::shared_ptr<const Graph> graph;
};
using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, std::shared_ptr<const Tensor>, BodyGraph>;

// Attributes by their ONNX name. The getters return the default when the attribute is absent or has
// another type (importers check types).
class Attributes {
 public:
  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void Set(std::string_view name, AttributeValue value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  void Erase(std::string_view name);
  int64_t Int(std::string_view name, int64_t otherwise) const;
  float Float(std::string_view name, float otherwise) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> Ints(std::string_view name) const;  // empty when absent
  std::vector<float> Floats(std::string_view name) const;  // empty when absent
  const Tensor* TensorOrNull(std::string_view name) const;
  const std::map<std::string, AttributeValue, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, AttributeValue, std::less<>> values_;
};

// Where the channels of a spatial op stand. Importers make kNchw; the layout pass turns every
// spatial op (convolutions, pools, ...) into kNhwc, the only layout that they lower from. In kNhwc
// the weights of Conv are [kernel..., input channels / group, output channels], those of
// ConvTranspose [kernel..., input channels, output channels / group], kernels not flipped.
enum class DataLayout : uint8_t { kNchw = 0, kNhwc = 1 };

// An elementwise op folded into the end of another node: it reads the flowing value (the result so
// far) and other operands that broadcast to it, and the result has the flowing value's shape.
struct FusedOp {
  OpKind kind = OpKind::kIdentity;
  Attributes attributes;
  std::vector<ValueId> operands;  // kNone at flow_position
  int flow_position = 0;
  DType dtype = DType::kUndefined;  // of the result
  std::string name;                 // of the node that it was
};

struct Node {
  OpKind kind = OpKind::kIdentity;
  std::string name;  // never empty after import
  int opset = 0;     // version of the operator set that the model imports
  DataLayout layout = DataLayout::kNchw;
  Attributes attributes;
  std::vector<ValueId> inputs;   // kNone: optional input left out
  std::vector<ValueId> outputs;  // kNone: optional output left out
  std::vector<FusedOp> tail;     // applied in order to outputs[0]
};

// A dimension is known, or a named unknown.
struct Dim {
  int64_t extent = -1;  // -1: unknown
  std::string symbol;   // of an unknown; may be empty
};

struct Value {
  std::string name;
  TensorType type;  // valid once `shape_known`
  bool shape_known = false;
  std::vector<Dim> declared;  // what the model says (inputs, value_info); may have unknowns
  bool rank_declared = false;
  std::shared_ptr<const Tensor> constant;  // set: the value is known at compile time
};

// A state: what output `output` holds after a run is what input `input` holds in the next one
// (positions among the graph's; both have one type).
struct GraphState {
  std::string name;
  size_t input = 0, output = 0;
  std::shared_ptr<const Tensor> initial;  // in the first run and after a reset; null: zeros
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<GraphState> states;

  Value& at(ValueId id) { return values[Index(id)]; }
  const Value& at(ValueId id) const { return values[Index(id)]; }
  ValueId AddValue(std::string value_name, TensorType type);
  ValueId AddConstant(std::string value_name, Tensor tensor);
};

// Every value that a node reads, tail operands included, without kNone; may repeat.
std::vector<ValueId> ReadValues(const Node& node);
// For each value: positions of the nodes that read it, ascending, and of its producer (-1: none).
struct GraphUses {
  std::vector<std::vector<int>> readers;
  std::vector<int> producer;
};
GraphUses ComputeUses(const Graph& graph);

absl::Status VerifyGraph(const Graph& graph);
// Stable text: inputs, then one line per node with types, then outputs.
std::string DumpGraph(const Graph& graph);

}  // namespace berth

// Runs one op on the machine, command by command, and compares it with the plain reference.
//
//   OpCase test(OpKind::kAdd);
//   test.Input(a).Constant(b);
//   EXPECT_TRUE(MatchesReference(test, {.scratchpad_bytes = 32 << 10}));
//
// The node is expanded and lowered with the default tile for the given memories; every value stands
// in a place of its own in DRAM; every virtual buffer gets addresses of its own in scratchpad,
// which starts filled with NaN patterns, as does DRAM outside of inputs and constants; commands
// execute in list order. Beside the values this checks that
//   - every command is well formed and stays inside its buffer or value,
//   - the buffers live at once never take more than the tile's cost says.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/graph.h"
#include "kernels/op_def.h"
#include "npu_sim/units.h"

namespace berth::testing {

struct HarnessOptions {
  int64_t scratchpad_bytes = 384 << 10;
  int64_t accumulator_bytes = 64 << 10;
  // Largest error: absolute + relative * max |expected|; negative: a default for the dtype.
  double relative_tolerance = -1;
  double absolute_tolerance = -1;
  bool strided = false;   // inputs and outputs stand with gaps along their last axis
  bool resident = false;  // inputs and outputs stand in scratchpad
  int parts = 1;          // of output 0 along axis 1, one call each, where the op can
  HostFunctionTable host_functions;
};

struct HarnessStats {
  int64_t commands = 0;
  int64_t dma_commands = 0;
  int64_t vector_commands = 0;
  int64_t matrix_commands = 0;
  int64_t load_bytes = 0;  // from DRAM, as the commands say
  int64_t store_bytes = 0;
  int64_t peak_live_bytes = 0;  // of virtual scratchpad buffers
};

// A node under test with its operands.
class OpCase {
 public:
  explicit OpCase(OpKind kind, int opset = 17);

  OpCase& Input(Tensor tensor);     // known only when it runs
  OpCase& Constant(Tensor tensor);  // known at compile time
  OpCase& Absent();                 // optional input left out
  // An input that is the same value as input `i`.
  OpCase& SameAs(int i);
  OpCase& Attribute(std::string_view name, AttributeValue value);
  OpCase& Layout(DataLayout layout);
  OpCase& Outputs(int count);
  // Output `i` is left out.
  OpCase& OmitOutput(int i);
  // Appends an op to the tail. `operands` are the others in order; the result's dtype is inferred
  // where it is not given.
  OpCase& Fuse(OpKind kind, Attributes attributes = {}, std::vector<Tensor> operands = {},
               int flow_position = 0, bool known = true, DType result = DType::kUndefined);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }  // of graph().inputs
  Node& node() { return graph_.nodes[0]; }
  const Node& node() const { return graph_.nodes[0]; }

  // Infers the types of the outputs (again).
  absl::Status Infer();
  std::string Describe() const;

 private:
  ValueId AddOperand(Tensor tensor, bool known);

  Graph graph_;
  std::vector<Tensor> inputs_;
};

// Outputs of the machine (absent outputs are left out); `stats` may be null.
absl::StatusOr<std::vector<Tensor>> RunOnMachine(const OpCase& test, const HarnessOptions& options,
                                                 HarnessStats* stats = nullptr);
// The same for a graph whose types are inferred; inputs in its order.
absl::StatusOr<std::vector<Tensor>> RunGraphOnMachine(const Graph& graph,
                                                      const std::vector<Tensor>& inputs,
                                                      const HarnessOptions& options,
                                                      HarnessStats* stats = nullptr);
absl::StatusOr<std::vector<Tensor>> RunReference(const OpCase& test);

::testing::AssertionResult MatchesReference(OpCase& test, const HarnessOptions& options = {},
                                            HarnessStats* stats = nullptr);
// The same with a large scratchpad, with `small_bytes`, strided, resident, and in parts from DRAM
// and from scratchpad.
::testing::AssertionResult MatchesEverywhere(OpCase& test, int64_t small_bytes = 32 << 10);

::testing::AssertionResult TensorsAgree(const Tensor& actual, const Tensor& expected,
                                        const HarnessOptions& options = {});

using Random = std::mt19937_64;
int64_t RandomInt(Random& random, int64_t least, int64_t most);  // both included
bool Chance(Random& random, double probability);
// Rank in [min_rank, max_rank], extents in [1, max_extent].
Shape RandomShape(Random& random, int min_rank, int max_rank, int64_t max_extent);
// A shape that broadcasts to `target`: leading axes dropped, some axes 1.
Shape RandomBroadcastOf(Random& random, const Shape& target);
// Uniform in [low, high]; integers likewise, clipped to their range; bool from the lowest bit.
Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, double low = -2,
                    double high = 2);
template <typename T>
Tensor MakeTensor(DType dtype, Shape shape, const std::vector<T>& values) {
  return Tensor::FromValues<T>(dtype, std::move(shape), values);
}
Tensor ScalarF32(float value);
Tensor Int64Tensor(const std::vector<int64_t>& values);

}  // namespace berth::testing

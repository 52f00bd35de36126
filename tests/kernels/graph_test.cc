// Graph: its verifier, dump and uses; type inference over it; the interpreter; default tiles.
#include "kernels/graph.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/reference/reference.h"
#include "kernels/rewrite.h"
#include "kernels/vector_steps.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node MakeNode(OpKind kind, std::string name, std::vector<ValueId> inputs,
              std::vector<ValueId> outputs) {
  Node node;
  node.kind = kind;
  node.name = std::move(name);
  node.opset = 13;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

// relu(x + 1) * (x + 1), the product fused into the Relu.
struct Example {
  Graph graph;
  ValueId x, one, sum, product;

  Example() {
    graph.name = "example";
    x = graph.AddValue("x", {DType::kFloat32, Shape{2, 2}});
    one = graph.AddConstant("one", ScalarF32(1));
    sum = graph.AddValue("sum", {});
    product = graph.AddValue("product", {});
    graph.inputs = {x};
    graph.outputs = {product};
    graph.nodes.push_back(MakeNode(OpKind::kAdd, "add", {x, one}, {sum}));
    graph.nodes.push_back(MakeNode(OpKind::kRelu, "relu", {sum}, {product}));
    FusedOp fused;
    fused.kind = OpKind::kMul;
    fused.name = "mul";
    fused.operands = {sum, ValueId::kNone};
    fused.flow_position = 1;
    fused.dtype = DType::kFloat32;
    graph.nodes[1].tail.push_back(fused);
  }
};

TEST(OpList, NamesAreFound) {
  for (int i = 0; i < static_cast<int>(OpKind::kCount); ++i) {
    const auto kind = static_cast<OpKind>(i);
    EXPECT_EQ(OpFromName(OpName(kind)), kind);
    const OpDef& op = GetOpDef(kind);
    EXPECT_EQ(op.kind, kind) << OpName(kind);
    EXPECT_NE(op.infer_types, nullptr) << OpName(kind);
    EXPECT_NE(GetReference(kind), nullptr) << OpName(kind);
    // What lowers has all the rules for it; what does not expands or is folded.
    if (op.lower != nullptr) {
      EXPECT_NE(op.iteration_space, nullptr) << OpName(kind);
      EXPECT_NE(op.tile_cost, nullptr) << OpName(kind);
    }
    if (op.elementwise) {
      EXPECT_NE(op.vector_steps, nullptr) << OpName(kind);
    }
  }
  EXPECT_EQ(OpFromName("NoSuchOp"), std::nullopt);
}

// docs/ops.md has one row for each op, in the order of the list, and says how it runs.
TEST(OpList, IsDocumented) {
  std::ifstream document(std::filesystem::path(BERTH_SOURCE_FOLDER) / "docs" / "ops.md");
  ASSERT_TRUE(document);
  int next = 0;
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| operator", 0) == 0) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 4u) << line;
    ASSERT_LT(next, static_cast<int>(OpKind::kCount)) << line;
    const OpDef& op = GetOpDef(static_cast<OpKind>(next++));
    EXPECT_EQ(cells[0], fmt::format(" {} ", OpName(op.kind)));
    const std::string& runs_as = cells[2];
    const char* const first_word = op.lower != nullptr ? " " : op.expand ? " expands" : " folded";
    EXPECT_EQ(runs_as.rfind(first_word, 0), 0u) << line;
    if (op.view != ViewKind::kNone) {
      EXPECT_THAT(runs_as, HasSubstr("view")) << line;
    }
    if (op.expand == nullptr) {
      EXPECT_THAT(runs_as, ::testing::Not(HasSubstr("expands"))) << line;
    }
  }
  EXPECT_EQ(next, static_cast<int>(OpKind::kCount));
}

TEST(Graph, UsesCountTailsAndEachReaderOnce) {
  Example e;
  const GraphUses uses = ComputeUses(e.graph);
  EXPECT_THAT(uses.readers[Index(e.sum)], ElementsAre(1));
  EXPECT_THAT(uses.readers[Index(e.x)], ElementsAre(0));
  EXPECT_EQ(uses.producer[Index(e.sum)], 0);
  EXPECT_EQ(uses.producer[Index(e.one)], -1);
}

TEST(Graph, VerifierAcceptsTheExample) {
  Example e;
  const absl::Status status = VerifyGraph(e.graph);
  EXPECT_TRUE(status.ok()) << status;
}

// Each damage is refused with a message that names it.
TEST(Graph, VerifierRefuses) {
  const auto message = [](auto&& damage) {
    Example e;
    damage(e);
    return std::string(VerifyGraph(e.graph).message());
  };
  EXPECT_THAT(message([](Example& e) { std::swap(e.graph.nodes[0], e.graph.nodes[1]); }),
              HasSubstr("'sum' is read before"));
  EXPECT_THAT(message([](Example& e) { e.graph.nodes[1].outputs[0] = e.sum; }),
              HasSubstr("'sum' has a second producer"));
  EXPECT_THAT(message([](Example& e) { e.graph.nodes[0].inputs[0] = ValueId{77}; }),
              HasSubstr("value 77 is outside [0, 4)"));
  EXPECT_THAT(message([](Example& e) { e.graph.nodes[0].outputs[0] = e.one; }),
              HasSubstr("'one' has a second producer"));
  EXPECT_THAT(message([](Example& e) { e.graph.nodes.pop_back(); }), HasSubstr("graph output"));
  EXPECT_THAT(message([](Example& e) { e.graph.nodes[1].tail[0].flow_position = 0; }),
              HasSubstr("does not read the flowing value"));
  EXPECT_THAT(message([](Example& e) { e.graph.at(e.one).type.dtype = DType::kInt32; }),
              HasSubstr("constant 'one' holds float32"));
  EXPECT_THAT(message([](Example& e) { e.graph.inputs.push_back(e.x); }),
              HasSubstr("'x' is a constant or stands twice"));
}

TEST(Graph, DumpIsStable) {
  Example e;
  ASSERT_TRUE(InferTypes(e.graph).ok());
  EXPECT_EQ(DumpGraph(e.graph),
            "graph 'example': 2 nodes, 4 values\n"
            "  input %0:x float32[2x2]\n"
            "  %2:sum float32[2x2] = Add@13(%0:x, %1:one const float32[scalar])  # add\n"
            "  %3:product float32[2x2] = Relu@13(%2:sum)  # relu\n"
            "    then Mul(%2:sum, _; flow at 1) -> float32  # mul\n"
            "  output %3:product float32[2x2]\n");
}

TEST(InferTypes, ChecksWhatTheModelDeclares) {
  Example wrong_extent;
  wrong_extent.graph.at(wrong_extent.product).rank_declared = true;
  wrong_extent.graph.at(wrong_extent.product).declared = {{-1, "n"}, {3, ""}};
  const absl::Status status = InferTypes(wrong_extent.graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Relu 'relu'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("dimension 1 = 3 but has shape 2x2"));

  Example wrong_dtype;
  wrong_dtype.graph.at(wrong_dtype.sum).type.dtype = DType::kInt32;
  EXPECT_EQ(InferTypes(wrong_dtype.graph).code(), absl::StatusCode::kInvalidArgument);
}

TEST(InferTypes, NamesTheNodeAtFault) {
  Example e;
  e.graph.at(e.one).constant = nullptr;
  e.graph.at(e.one).type.shape = Shape{3};
  e.graph.inputs.push_back(e.one);
  const absl::Status status = InferTypes(e.graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Add 'add'"));
}

TEST(Interpreter, RunsTails) {
  Example e;
  ASSERT_TRUE(InferTypes(e.graph).ok());
  const auto outputs =
      Interpret(e.graph, {MakeTensor<float>(DType::kFloat32, Shape{2, 2}, {-3, -1, 0, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].Values<float>(), ElementsAre(0, 0, 1, 9));
}

TEST(Interpreter, RefusesOtherInputs) {
  Example e;
  ASSERT_TRUE(InferTypes(e.graph).ok());
  EXPECT_FALSE(Interpret(e.graph, {}).ok());
  EXPECT_FALSE(Interpret(e.graph, {ScalarF32(1)}).ok());
}

TEST(Rewriter, ErrorsStickAndNameTheNewNode) {
  Example e;
  ASSERT_TRUE(InferTypes(e.graph).ok());
  std::vector<Node> nodes;
  GraphRewriter rewrite(e.graph, nodes, e.graph.nodes[0]);
  const ValueId bad = rewrite.Apply(OpKind::kReshape, {e.x, rewrite.Int64s({3})});
  EXPECT_EQ(bad, ValueId::kNone);
  EXPECT_EQ(rewrite.Apply(OpKind::kRelu, {e.x}), ValueId::kNone);
  EXPECT_TRUE(nodes.empty());
  EXPECT_THAT(std::string(rewrite.status().message()), HasSubstr("Reshape 'add/"));
}

// Tiles of a made-up op that costs `bytes_per_element` times its tile.
IterationSpace TwoLoops(const OpCall&) { return {{"a", 100, 1, 0}, {"b", 64, 16, 1}}; }
TileCost Area(const OpCall&, const TileShape& tile) { return {tile[0] * tile[1] * 4, 0}; }

TEST(DefaultTile, ShrinksInOrderAndBalances) {
  OpDef op{.kind = OpKind::kIdentity, .iteration_space = TwoLoops, .tile_cost = Area};
  const Node node;
  OpCall call;
  call.node = &node;
  const auto tile = [&](int64_t bytes) { return DefaultTile(op, call, {bytes, 0, NpuConfig{}}); };
  EXPECT_THAT(*tile(100 * 64 * 4), ElementsAre(100, 64));
  // 60 rows would fit; 50 and 50 are as few tiles.
  EXPECT_THAT(*tile(60 * 64 * 4), ElementsAre(50, 64));
  EXPECT_THAT(*tile(64 * 4), ElementsAre(1, 64));
  EXPECT_THAT(*tile(50 * 4), ElementsAre(1, 32));  // 48 would make tiles of 48 and 16
  EXPECT_THAT(*tile(16 * 4), ElementsAre(1, 16));
  EXPECT_EQ(tile(16 * 4 - 1).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace berth::testing

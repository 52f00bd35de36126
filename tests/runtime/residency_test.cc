// Random networks with values on chip and runs of ops in stripes give what they give when every
// value goes through DRAM, on scratchpads of many sizes.
#include <map>

#include "npu_sim/timing.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

// A network over one image that grows op by op: chains, branches, residual sums, concats.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed), g_(seed) {
    const int64_t channels = Pick(1, 6) * 4;
    values_.push_back({g_.Input(Shape{1, channels, Pick(9, 40), Pick(5, 24)})});
  }

  Graph Make(int ops) {
    for (int i = 0; i < ops; ++i) Grow();
    std::map<ValueId, int> readers;
    for (const Node& node : g_.graph.nodes) {
      for (const ValueId id : ReadValues(node)) ++readers[id];
    }
    for (size_t i = 1; i < values_.size(); ++i) {
      if (readers[values_[i]] == 0) g_.Output(values_[i]);
    }
    return g_.graph;
  }

 private:
  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  const Shape& ShapeOf(ValueId id) { return g_.graph.at(id).type.shape; }
  // The newest value most of the time.
  ValueId Some() {
    if (Pick(0, 3) > 0) return values_.back();
    return values_[static_cast<size_t>(Pick(0, static_cast<int64_t>(values_.size()) - 1))];
  }
  // A value of the shape, other than `id`, if there is one.
  ValueId Like(ValueId id) {
    for (size_t i = values_.size(); i-- > 0;) {
      if (values_[i] != id && ShapeOf(values_[i]) == ShapeOf(id)) return values_[i];
    }
    return ValueId::kNone;
  }

  void Grow() {
    const ValueId x = Some();
    const Shape shape = ShapeOf(x);
    const bool is_small = shape[2] < 4 || shape[3] < 4;
    switch (Pick(0, 7)) {
      case 0:
      case 1:
        return Convolve(x, 1, 1, false);
      case 2:
        return Convolve(x, 3, is_small ? 1 : Pick(1, 2), false);
      case 3:
        return Convolve(x, Pick(0, 1) * 2 + 3, is_small ? 1 : Pick(1, 2), true);
      case 4:
        if (is_small) return Convolve(x, 1, 1, false);
        return Add(g_.Apply(
            OpKind::kMaxPool, {x},
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}));
      case 5:
        if (const ValueId y = Like(x); y != ValueId::kNone) {
          return Add(g_.Apply(OpKind::kAdd, {x, y}));
        }
        return Add(g_.Apply(OpKind::kSigmoid, {x}));
      case 6:
        if (const ValueId y = Like(x); y != ValueId::kNone && shape[1] < 64) {
          return Add(g_.Apply(OpKind::kConcat, {x, y}, {{"axis", int64_t{1}}}));
        }
        return Add(g_.Apply(OpKind::kHardSwish, {x}));
      default:
        if (shape[2] * shape[3] > 400) return Convolve(x, 3, 2, false);
        return Add(g_.Apply(
            OpKind::kResize,
            {x, ValueId::kNone,
             g_.graph.AddConstant(
                 "scales", Tensor::FromValues<float>(DType::kFloat32, Shape{4}, {1, 1, 2, 2}))}));
    }
  }

  void Convolve(ValueId x, int64_t kernel, int64_t stride, bool depthwise) {
    const int64_t channels = ShapeOf(x)[1];
    const int64_t out = depthwise ? channels : Pick(1, 8) * 4;
    const ValueId sum =
        g_.Apply(OpKind::kConv,
                 {x, g_.Weights(Shape{out, depthwise ? 1 : channels, kernel, kernel}, -0.3f, 0.3f),
                  g_.Weights(Shape{out})},
                 {{"pads", Ints(4, kernel / 2)},
                  {"strides", Ints(2, stride)},
                  {"group", depthwise ? channels : int64_t{1}}});
    Add(Pick(0, 1) == 0 ? sum : g_.Apply(OpKind::kRelu, {sum}));
  }
  void Add(ValueId value) { values_.push_back(value); }

  std::mt19937 random_;
  TestGraph g_;
  std::vector<ValueId> values_;
};

struct Ran {
  std::vector<Tensor> outputs;
  SimReport report;
};

Ran RunOn(const Graph& graph, const CompileOptions& options) {
  Ran ran;
  absl::StatusOr<BundleContents> contents = CompileGraph(graph, options);
  EXPECT_TRUE(contents.ok()) << contents.status();
  if (!contents.ok()) return ran;
  auto report = SimulateTiming(contents->program.view(), contents->config);
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) ran.report = *std::move(report);
  auto program = Program::FromContents(*std::move(contents));
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return ran;
  ArenaPool pool;
  RunBuffers buffers(**program);
  const auto context = MakeContext(*program, pool);
  const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
  EXPECT_TRUE(status.ok()) << status;
  ran.outputs = std::move(buffers.outputs);
  return ran;
}

int64_t DramBytes(const Ran& ran) {
  return ran.report.dram_read_bytes + ran.report.dram_write_bytes;
}

void ExpectClose(const char* what, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  SCOPED_TRACE(what);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(RelativeError(a[i], b[i]), 1e-5) << "output " << i;
  }
}

class Residency : public ::testing::TestWithParam<int> {};

TEST_P(Residency, GivesTheSameValues) {
  const auto seed = static_cast<uint32_t>(GetParam());
  SCOPED_TRACE(seed);
  const Graph graph = RandomNetwork(seed).Make(4 + GetParam() % 12);
  SCOPED_TRACE(DumpGraph(graph));
  CompileOptions options = SmallMachineOptions();
  for (const int64_t kib : {12, 64}) {
    SCOPED_TRACE(kib);
    options.config.scratchpad.size_bytes = kib << 10;
    options.config.accumulator.size_bytes = kib << 8;
    options.resident = options.stripes = false;
    const Ran through_dram = RunOn(graph, options);
    options.resident = true;
    const Ran resident = RunOn(graph, options);
    options.stripes = true;
    const Ran striped = RunOn(graph, options);
    ExpectClose("resident", resident.outputs, through_dram.outputs);
    ExpectClose("striped", striped.outputs, through_dram.outputs);
    EXPECT_LE(DramBytes(striped), DramBytes(through_dram));
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Residency, ::testing::Range(1, 9));

// Two convolutions whose values are ten times the scratchpad, and whose weights are not: only the
// input, the output and the weights move.
TEST(Stripes, MoveNoMoreThanTheyMust) {
  TestGraph g(3);
  const ValueId x = g.Input(Shape{1, 8, 64, 64});
  ValueId value = x;
  for (int i = 0; i < 3; ++i) {
    value = g.Apply(OpKind::kConv, {value, g.Weights(Shape{8, 8, 3, 3}), g.Weights(Shape{8})},
                    {{"pads", Ints(4, 1)}});
  }
  g.Output(value);
  CompileOptions options = SmallMachineOptions();
  options.resident = options.stripes = true;
  options.config.scratchpad.size_bytes = 96 << 10;
  options.config.accumulator.size_bytes = 24 << 10;
  const absl::StatusOr<BundleContents> contents = CompileGraph(g.graph, options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  const auto report = SimulateTiming(contents->program.view(), contents->config);
  ASSERT_TRUE(report.ok());
  const int64_t moved = report->dram_read_bytes + report->dram_write_bytes;
  EXPECT_LE(moved, contents->dram_bytes_lower_bound * 102 / 100);
}

}  // namespace
}  // namespace berth

// LSTM and SVDF against loops over time.
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;
using Floats = std::vector<float>;

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

struct LstmCase {
  int steps = 4, batch = 2, inputs = 3, cells = 5;
  bool time_major = false, input_gate = true, peepholes = false;
  int projection = 0;  // > 0: results
  float cell_clip = 0;
  bool expose_state = false;

  int results() const { return projection > 0 ? projection : cells; }
};

// Gates in the file's order: input, forget, cell, output.
struct LstmWeights {
  Floats w[4], r[4], bias[4], peephole[4], projection;
};

float Dot(const Floats& weights, int row, const float* x, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += weights[static_cast<size_t>(row * count + i)] * x[i];
  return sum;
}

// Results in the order of `x`, the state through `h` and `c`.
Floats NaiveLstm(const LstmCase& c, const LstmWeights& w, const Floats& x, Floats& h,
                 Floats& cell) {
  Floats y(static_cast<size_t>(c.steps * c.batch * c.results()));
  for (int t = 0; t < c.steps; ++t) {
    Floats next_h = h;
    for (int b = 0; b < c.batch; ++b) {
      const int row = c.time_major ? t * c.batch + b : b * c.steps + t;
      Floats shown(static_cast<size_t>(c.cells));
      for (int n = 0; n < c.cells; ++n) {
        float& state = cell[static_cast<size_t>(b * c.cells + n)];
        const auto sum = [&](int gate, float seen) {
          const float own = c.peepholes ? w.peephole[gate][static_cast<size_t>(n)] * seen : 0;
          return Dot(w.w[gate], n, &x[static_cast<size_t>(row * c.inputs)], c.inputs) +
                 Dot(w.r[gate], n, &h[static_cast<size_t>(b * c.results())], c.results()) +
                 w.bias[gate][static_cast<size_t>(n)] + own;
        };
        const float forget = Sigmoid(sum(1, state));
        const float input = c.input_gate ? Sigmoid(sum(0, state)) : 1 - forget;
        const float fresh = std::tanh(sum(2, 0));
        state = forget * state + input * fresh;
        if (c.cell_clip > 0) state = std::clamp(state, -c.cell_clip, c.cell_clip);
        shown[static_cast<size_t>(n)] = Sigmoid(sum(3, state)) * std::tanh(state);
      }
      for (int n = 0; n < c.results(); ++n) {
        const float result = c.projection > 0 ? Dot(w.projection, n, shown.data(), c.cells)
                                              : shown[static_cast<size_t>(n)];
        next_h[static_cast<size_t>(b * c.results() + n)] = result;
        y[static_cast<size_t>(row * c.results() + n)] = result;
      }
    }
    h = next_h;
  }
  return y;
}

std::string WriteLstm(const LstmCase& c, LstmWeights& w, std::mt19937_64& random) {
  TfliteWriter writer;
  const auto make = [&](std::vector<int32_t> shape, Floats& values) {
    size_t count = 1;
    for (const int32_t extent : shape) count *= static_cast<size_t>(extent);
    values = RandomFloats(count, random);
    return writer.Floats(std::move(shape), values);
  };
  const std::vector<int32_t> order = c.time_major ? std::vector<int32_t>{c.steps, c.batch}
                                                  : std::vector<int32_t>{c.batch, c.steps};
  const int in = writer.Value({"x", {order[0], order[1], c.inputs}});
  std::vector<int32_t> operands(24, -1);
  operands[0] = in;
  for (int gate = c.input_gate ? 0 : 1; gate < 4; ++gate) {
    operands[static_cast<size_t>(1 + gate)] = make({c.cells, c.inputs}, w.w[gate]);
    operands[static_cast<size_t>(5 + gate)] = make({c.cells, c.results()}, w.r[gate]);
    operands[static_cast<size_t>(12 + gate)] = make({c.cells}, w.bias[gate]);
    const int peephole = 9 + (gate == 3 ? 2 : gate);
    w.peephole[gate].assign(static_cast<size_t>(c.cells), 0);
    if (c.peepholes && gate != 2) {
      operands[static_cast<size_t>(peephole)] = make({c.cells}, w.peephole[gate]);
    }
  }
  if (c.projection > 0) operands[16] = make({c.projection, c.cells}, w.projection);
  TestTensor hidden{"h", {c.batch, c.results()}}, cell{"c", {c.batch, c.cells}};
  hidden.is_variable = cell.is_variable = true;
  operands[18] = writer.Value(hidden);
  operands[19] = writer.Value(cell);
  const int out = writer.Value({"y", {order[0], order[1], c.results()}});
  writer.Op(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, operands, {out},
            tfl::CreateUnidirectionalSequenceLstmOptions(writer.fbb(), tfl::Activation::TANH,
                                                         c.cell_clip, 0, c.time_major));
  return writer.Finish({in}, {out});
}

void CheckLstm(const LstmCase& c, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  LstmWeights weights;
  const std::string bytes = WriteLstm(c, weights, random);
  const Floats x = RandomFloats(static_cast<size_t>(c.steps * c.batch * c.inputs), random);
  Floats h(static_cast<size_t>(c.batch * c.results())),
      cell(static_cast<size_t>(c.batch * c.cells));
  const Shape shape =
      c.time_major ? Shape{c.steps, c.batch, c.inputs} : Shape{c.batch, c.steps, c.inputs};
  std::vector<Tensor> inputs = {FloatTensor(shape, x)};
  ImportOptions options;
  options.state_mode = c.expose_state ? StateMode::kExpose : StateMode::kFresh;
  if (c.expose_state) {
    h = RandomFloats(h.size(), random);
    cell = RandomFloats(cell.size(), random);
    inputs.push_back(FloatTensor({c.batch, c.results()}, h));
    inputs.push_back(FloatTensor({c.batch, c.cells}, cell));
  }
  const auto y = RunBytes(bytes, inputs, options);
  ASSERT_EQ(y.size(), c.expose_state ? 3u : 1u);
  const Floats expected = NaiveLstm(c, weights, x, h, cell);
  ExpectNear(y[0], {shape[0], shape[1], c.results()}, expected);
  if (!c.expose_state) return;
  ExpectNear(y[1], {c.batch, c.results()}, h);
  ExpectNear(y[2], {c.batch, c.cells}, cell);
}

TEST(TfliteRecurrent, LstmFromZeros) {
  CheckLstm({}, 1);
  CheckLstm({.time_major = true}, 2);
  CheckLstm({.steps = 1, .batch = 1}, 3);
}

TEST(TfliteRecurrent, LstmForms) {
  CheckLstm({.input_gate = false}, 4);
  CheckLstm({.peepholes = true}, 5);
  CheckLstm({.projection = 2}, 6);
  CheckLstm({.cell_clip = 0.25f}, 7);
}

TEST(TfliteRecurrent, LstmStateAsInputsAndOutputs) {
  CheckLstm({.expose_state = true}, 8);
  CheckLstm({.time_major = true, .projection = 3, .expose_state = true}, 9);
}

TEST(TfliteRecurrent, LstmOfEndlessTimeIsRefused) {
  std::mt19937_64 random(10);
  LstmWeights weights;
  const auto graph =
      ImportBytes(WriteLstm({.steps = 100000, .batch = 1, .inputs = 1}, weights, random));
  EXPECT_TRUE(absl::IsUnimplemented(graph.status())) << graph.status();
}

constexpr int kBatch = 2, kInputs = 3, kFilters = 4, kMemory = 3, kRank = 2;

// One run: the state shifts, the new features come last.
Floats NaiveSvdf(const Floats& features, const Floats& times, const Floats& bias, const Floats& x,
                 Floats& state) {
  Floats y(kBatch * kFilters / kRank);
  for (int b = 0; b < kBatch; ++b) {
    for (int f = 0; f < kFilters; ++f) {
      float* row = &state[static_cast<size_t>((b * kFilters + f) * kMemory)];
      for (int m = 0; m + 1 < kMemory; ++m) row[m] = row[m + 1];
      row[kMemory - 1] = Dot(features, f, &x[static_cast<size_t>(b * kInputs)], kInputs);
      y[static_cast<size_t>(b * kFilters / kRank + f / kRank)] += Dot(times, f, row, kMemory);
    }
  }
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = std::max(0.0f, y[i] + bias[i % (kFilters / kRank)]);
  }
  return y;
}

TEST(TfliteRecurrent, SvdfWithAndWithoutItsPast) {
  std::mt19937_64 random(11);
  const Floats features = RandomFloats(kFilters * kInputs, random);
  const Floats times = RandomFloats(kFilters * kMemory, random);
  const Floats bias = RandomFloats(kFilters / kRank, random);
  const Floats x = RandomFloats(kBatch * kInputs, random);
  for (const bool past : {false, true}) {
    TfliteWriter writer;
    const int in = writer.Value({"x", {kBatch, kInputs}});
    const int w = writer.Floats({kFilters, kInputs}, features);
    const int t = writer.Floats({kFilters, kMemory}, times);
    const int b = writer.Floats({kFilters / kRank}, bias);
    TestTensor memory{"state", {kBatch, kFilters * kMemory}};
    memory.is_variable = true;
    const int state = writer.Value(memory);
    const int out = writer.Value({"y", {kBatch, kFilters / kRank}});
    writer.Op(Op::SVDF, {in, w, t, b, state}, {out},
              tfl::CreateSvdfOptions(writer.fbb(), kRank, tfl::Activation::RELU));
    Floats before(kBatch * kFilters * kMemory);
    std::vector<Tensor> inputs = {FloatTensor({kBatch, kInputs}, x)};
    ImportOptions options;
    options.state_mode = past ? StateMode::kExpose : StateMode::kFresh;
    if (past) {
      before = RandomFloats(before.size(), random);
      inputs.push_back(FloatTensor({kBatch, kFilters * kMemory}, before));
    }
    const auto y = RunBytes(writer.Finish({in}, {out}), inputs, options);
    ASSERT_EQ(y.size(), past ? 2u : 1u);
    ExpectNear(y[0], {kBatch, kFilters / kRank}, NaiveSvdf(features, times, bias, x, before));
    if (past) ExpectNear(y[1], {kBatch, kFilters * kMemory}, before);
  }
}

}  // namespace
}  // namespace berth

// The functional half on one thread: matrix commands of common layers (operations per second of the
// multiply-accumulates, two each) and vector and DMA commands (bytes read and written per second).
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "npu_sim/units.h"

namespace berth {
namespace {

constexpr int64_t kSpace = int64_t{1} << 26;  // for each operand

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer MakeBuffer(int64_t size_bytes) {
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(size_bytes)));
  auto* floats = reinterpret_cast<float*>(bytes);
  for (int64_t i = 0; i < size_bytes / 4; ++i)
    floats[i] = 0.25f + 0.125f * static_cast<float>(i % 9);
  return Buffer(bytes);
}

Operand Place(DType dtype, int position, std::array<int64_t, 4> strides,
              MemorySpace space = MemorySpace::kScratchpad) {
  Operand o;
  o.dtype = dtype;
  o.space = space;
  o.offset_bytes = position * kSpace;
  for (size_t i = 0; i < 4; ++i) o.stride_bytes[i] = static_cast<int32_t>(strides[i]);
  return o;
}

void SetExtents(Command& c, std::array<int64_t, 4> extents) {
  for (size_t i = 0; i < 4; ++i) c.extent[i] = static_cast<int32_t>(extents[i]);
}

void Run(benchmark::State& state, const Command& c) {
  const Buffer scratchpad = MakeBuffer(4 * kSpace);
  const Buffer accumulator = MakeBuffer(kSpace);
  const Buffer dram = MakeBuffer(kSpace);
  const Buffer scratch = MakeBuffer((ScratchBytes(c) + 127) / 64 * 64);
  std::byte* regions[] = {dram.get()};
  const MemoryMap memory{scratchpad.get(), accumulator.get(), regions};
  const absl::Span<std::byte> span(scratch.get(), static_cast<size_t>(ScratchBytes(c)));
  for (auto _ : state) {
    for (int part = 0; part < PartCount(c); ++part) {
      const absl::Status status = ExecuteCommand(c, part, memory, span, {});
      if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
    }
  }
  state.counters["parts"] = PartCount(c);
}

struct Layer {
  int64_t side, in_channels, out_channels, kernel, stride;
};

Command WindowCommand(const Layer& l, int64_t& out_side) {
  Command c;
  c.params.matrix = MatrixParams{};
  Window& w = c.params.matrix.window;
  w.kernel_height = w.kernel_width = static_cast<int16_t>(l.kernel);
  w.stride_height = w.stride_width = static_cast<int16_t>(l.stride);
  w.pad_top = w.pad_left = static_cast<int16_t>(l.kernel / 2);
  w.input_height = w.input_width = static_cast<int32_t>(l.side);
  out_side = (l.side + 2 * (l.kernel / 2) - l.kernel) / l.stride + 1;
  c.flags = kFlagWriteOut;
  c.params.matrix.activation = Activation::kRelu;
  return c;
}

void Convolution(benchmark::State& state, DType dtype, bool depthwise) {
  const Layer l = {state.range(0), state.range(1), state.range(2), state.range(3), state.range(4)};
  int64_t side = 0;
  Command c = WindowCommand(l, side);
  const bool is_float = IsFloat(dtype);
  const DType sums = is_float ? DType::kFloat32 : DType::kInt32;
  const int64_t e = DTypeBytes(dtype), oc = l.out_channels, ic = depthwise ? oc : l.in_channels;
  c.in0 = Place(dtype, 0, {l.side * ic * e, ic * e, depthwise ? e : 0, depthwise ? 0 : e});
  const DType weights = is_float ? dtype : DType::kInt8;
  if (depthwise) {
    c.opcode = Opcode::kDepthwise;
    SetExtents(c, {side, side, oc, 1});
    c.in1 = Place(weights, 1, {l.kernel * oc * e, oc * e, e, 0});
  } else {
    c.opcode = Opcode::kConv;
    SetExtents(c, {side, side, oc, ic});
    c.in1 = Place(weights, 1, {l.kernel * ic * oc * e, ic * oc * e, e, oc * e});
  }
  c.in2 = Place(sums, 2, {0, 0, 4, 0});
  c.out = Place(dtype, 3, {side * oc * e, oc * e, e, 0});
  c.acc = Place(sums, 0, {0, 0, 0, 0}, MemorySpace::kAccumulator);
  Run(state, c);
  const double macs =
      static_cast<double>(side * side * oc * l.kernel * l.kernel * (depthwise ? 1 : ic));
  state.counters["op/s"] =
      benchmark::Counter(2 * macs, benchmark::Counter::kIsIterationInvariantRate);
}

void ConvolutionLayers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"side", "in", "out", "kernel", "stride"});
  b->Args({224, 3, 64, 7, 2})->Args({56, 64, 64, 1, 1})->Args({56, 64, 64, 3, 1});
  b->Args({28, 128, 128, 3, 1})->Args({14, 256, 256, 3, 1})->Args({7, 512, 512, 3, 1});
  b->Args({14, 256, 32, 3, 1})->Args({120, 3, 16, 3, 1})->Args({120, 16, 16, 3, 1});
}
void DepthwiseLayers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"side", "in", "out", "kernel", "stride"});
  b->Args({112, 32, 32, 3, 1})->Args({56, 144, 144, 3, 2})->Args({14, 512, 512, 3, 1});
}
BENCHMARK_CAPTURE(Convolution, float32, DType::kFloat32, false)->Apply(ConvolutionLayers);
BENCHMARK_CAPTURE(Convolution, uint8, DType::kUInt8, false)->Apply(ConvolutionLayers);
BENCHMARK_CAPTURE(Convolution, depthwise_float32, DType::kFloat32, true)->Apply(DepthwiseLayers);
BENCHMARK_CAPTURE(Convolution, depthwise_int8, DType::kInt8, true)->Apply(DepthwiseLayers);

// M x K by K x N, with the output stage; K x N stands row by row.
void Gemm(benchmark::State& state, DType dtype) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const bool is_float = IsFloat(dtype);
  const DType sums = is_float ? DType::kFloat32 : DType::kInt32;
  const int64_t e = DTypeBytes(dtype);
  Command c;
  c.opcode = Opcode::kGemm;
  c.params.matrix = MatrixParams{};
  c.params.matrix.out_scale = 1e-3f;
  c.flags = kFlagWriteOut;
  SetExtents(c, {1, m, n, k});
  c.in0 = Place(dtype, 0, {0, k * e, 0, e});
  c.in1 = Place(is_float ? dtype : DType::kInt8, 1, {0, 0, e, n * e});
  c.in2 = Place(sums, 2, {0, 0, 4, 0});
  c.out = Place(dtype, 3, {0, n * e, e, 0});
  c.acc = Place(sums, 0, {0, 0, 0, 0}, MemorySpace::kAccumulator);
  Run(state, c);
  state.counters["op/s"] = benchmark::Counter(2 * static_cast<double>(m * n * k),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
void GemmShapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"});
  b->Args({256, 256, 256})->Args({1024, 1024, 1024})->Args({196, 1024, 512})->Args({1, 1024, 4096});
}
BENCHMARK_CAPTURE(Gemm, float32, DType::kFloat32)->Apply(GemmShapes);
BENCHMARK_CAPTURE(Gemm, int8, DType::kInt8)->Apply(GemmShapes);
BENCHMARK_CAPTURE(Gemm, uint8, DType::kUInt8)->Apply(GemmShapes);
BENCHMARK_CAPTURE(Gemm, int16, DType::kInt16)->Apply(GemmShapes);

void SetBytes(benchmark::State& state, int64_t per_iteration) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * per_iteration);
}

void Unary(benchmark::State& state, UnaryFunction function) {
  Command c;
  c.opcode = Opcode::kUnary;
  c.params.vector = VectorParams{};
  c.params.vector.function = static_cast<uint8_t>(function);
  const int64_t count = 1 << 16;
  SetExtents(c, {1, 1, 1, count});
  c.in0 = Place(DType::kFloat32, 0, {0, 0, 0, 4});
  c.out = Place(DType::kFloat32, 1, {0, 0, 0, 4});
  Run(state, c);
  SetBytes(state, 2 * count * 4);
}
BENCHMARK_CAPTURE(Unary, relu, UnaryFunction::kRelu);
BENCHMARK_CAPTURE(Unary, exp, UnaryFunction::kExp);
BENCHMARK_CAPTURE(Unary, sigmoid, UnaryFunction::kSigmoid);
BENCHMARK_CAPTURE(Unary, tanh, UnaryFunction::kTanh);
BENCHMARK_CAPTURE(Unary, gelu, UnaryFunction::kGelu);

// Rows x columns floats: in1 is dense, one row, one column or one value.
void Add(benchmark::State& state, std::array<int64_t, 4> in1_strides) {
  Command c;
  c.opcode = Opcode::kBinary;
  c.params.vector = VectorParams{};
  const int64_t rows = state.range(0), columns = state.range(1);
  SetExtents(c, {1, 1, rows, columns});
  c.in0 = Place(DType::kFloat32, 0, {0, 0, columns * 4, 4});
  c.in1 = Place(DType::kFloat32, 1, in1_strides);
  c.out = Place(DType::kFloat32, 2, {0, 0, columns * 4, 4});
  Run(state, c);
  SetBytes(state, 2 * rows * columns * 4);
}
BENCHMARK_CAPTURE(Add, one_value, {0, 0, 0, 0})->Args({256, 256});
BENCHMARK_CAPTURE(Add, row, {0, 0, 0, 4})->Args({256, 256})->Args({4096, 16})->Args({21845, 3});
BENCHMARK_CAPTURE(Add, column, {0, 0, 4, 0})->Args({256, 256})->Args({4096, 16});

void Move(benchmark::State& state, Opcode opcode, bool transpose) {
  Command c;
  c.opcode = opcode;
  const int64_t rows = state.range(0), columns = state.range(1);
  SetExtents(c, {1, 1, rows, columns});
  const auto space = opcode == Opcode::kDmaLoad ? MemorySpace::kDram : MemorySpace::kScratchpad;
  c.in0 = Place(DType::kFloat32, 0,
                {0, 0, transpose ? 4 : 2 * columns * 4, transpose ? rows * 4 : 4}, space);
  c.out = Place(DType::kFloat32, 1, {0, 0, columns * 4, 4});
  Run(state, c);
  SetBytes(state, 2 * rows * columns * 4);
}
BENCHMARK_CAPTURE(Move, load, Opcode::kDmaLoad, false)->Args({256, 256})->Args({4096, 16});
BENCHMARK_CAPTURE(Move, copy, Opcode::kCopy, false)->Args({256, 256})->Args({4096, 16});
BENCHMARK_CAPTURE(Move, transpose, Opcode::kCopy, true)->Args({256, 256})->Args({784, 64});

void Softmax(benchmark::State& state) {
  Command c;
  c.opcode = Opcode::kSoftmax;
  c.params.vector = VectorParams{};
  const int64_t rows = state.range(0), columns = state.range(1);
  SetExtents(c, {1, 1, rows, columns});
  c.in0 = Place(DType::kFloat32, 0, {0, 0, columns * 4, 4});
  c.out = Place(DType::kFloat32, 1, {0, 0, columns * 4, 4});
  Run(state, c);
  SetBytes(state, 2 * rows * columns * 4);
}
BENCHMARK(Softmax)->Args({64, 1000})->Args({4096, 16});

}  // namespace
}  // namespace berth

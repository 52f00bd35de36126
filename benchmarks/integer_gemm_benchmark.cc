// A quantized product of matrices on the whole path: planned for a machine, then run by the
// executor for its values; operations per second of the multiply-accumulates, two each. CPU is that
// of all threads.
#include <benchmark/benchmark.h>

#include <random>

#include "berth/context.h"
#include "kernels/ops/quantized_product.h"
#include "kernels/reference/reference.h"
#include "planner/compile.h"

namespace berth {
namespace {

Tensor RandomBytes(DType dtype, const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor(TensorType{dtype, shape});
  for (std::byte& byte : tensor.bytes()) byte = static_cast<std::byte>(random());
  return tensor;
}

// [m, k] of uint8 by a constant [k, n] of int8 to uint8.
Graph ProductGraph(int64_t m, int64_t n, int64_t k) {
  Graph graph;
  const ValueId x = graph.AddValue("x", TensorType{DType::kUInt8, Shape{m, k}});
  const ValueId w = graph.AddConstant("w", RandomBytes(DType::kInt8, Shape{k, n}, 1));
  const ValueId y = graph.AddValue("y", TensorType{DType::kUInt8, Shape{m, n}});
  QuantizedProduct product = NarrowProduct(DType::kUInt8, 128);
  product.x_zero_point = 128;
  product.factor = 1e-4f;
  Node node;
  node.kind = OpKind::kMatMul;
  node.name = "product";
  node.opset = 13;
  node.inputs = {x, w};
  node.outputs = {y};
  SetQuantizedProduct(node.attributes, product);
  graph.nodes.push_back(std::move(node));
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

absl::StatusOr<std::shared_ptr<const Program>> Plan(const Graph& graph) {
  CompileOptions options;
  BERTH_ASSIGN_OR_RETURN(options.config, LoadTarget("mobile"));
  options.evaluator = EvaluateNode;
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileGraph(graph, options));
  return Program::FromContents(std::move(contents));
}

void Product(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const auto program = Plan(ProductGraph(m, n, k));
  if (!program.ok()) return state.SkipWithError(std::string(program.status().message()).c_str());
  ArenaPool pool;
  ContextOptions options;
  options.threads = static_cast<int>(state.range(3));
  const auto context = Context::Create(*program, pool, options);
  if (!context.ok()) return state.SkipWithError(std::string(context.status().message()).c_str());
  const Tensor x = RandomBytes(DType::kUInt8, Shape{m, k}, 2);
  Tensor y(TensorType{DType::kUInt8, Shape{m, n}});
  const ConstTensorView inputs[] = {x.view()};
  const TensorView outputs[] = {y.view()};
  for (auto _ : state) {
    const absl::Status status = (*context)->Run(inputs, outputs);
    if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  }
  state.counters["op/s"] = benchmark::Counter(2 * static_cast<double>(m * n * k),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Product)
    ->ArgNames({"m", "n", "k", "threads"})
    ->ArgsProduct({{512, 1024, 2048}, {1024}, {1024}, {1, 2}})
    ->Args({2048, 2048, 2048, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth

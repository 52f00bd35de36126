// One run of whatever program a fuzzer got past the proof, within bounds of memory and time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "berth/context.h"
#include "npu_sim/sanitizer.h"

namespace berth {

inline constexpr int64_t kFuzzMostBytes = int64_t{32} << 20;
inline constexpr std::chrono::milliseconds kFuzzRunTime{500};

inline RunOptions FuzzRunOptions() {
  RunOptions options;
  options.deadline = std::chrono::steady_clock::now() + kFuzzRunTime;
  return options;
}

// Of the type that the program names; free dimensions are 2. Nothing where it is too large.
inline std::optional<Tensor> FuzzInput(const TensorInfo& info) {
  TensorType type = info.type;
  if (info.has_free_shape) {
    std::vector<int64_t> extents;
    for (const Dim& dim : info.dims) extents.push_back(dim.extent < 0 ? 2 : dim.extent);
    auto shape = Shape::Create(std::move(extents));
    if (!shape.ok()) return std::nullopt;
    type.shape = *std::move(shape);
  }
  if (type.shape.ElementCount() > kFuzzMostBytes) return std::nullopt;
  return Tensor(type);
}

// All outputs of a run with inputs of zeros, after one another; empty where it failed.
inline std::vector<std::byte> RunOnZeros(const std::shared_ptr<const Program>& program, int threads,
                                         SanitizerReport* sanitizer = nullptr) {
  if (program->memory().arena_bytes > kFuzzMostBytes) return {};
  std::vector<Tensor> inputs, outputs;
  std::vector<ConstTensorView> views;
  for (const TensorInfo& info : program->inputs()) {
    std::optional<Tensor> input = FuzzInput(info);
    if (!input) return {};
    inputs.push_back(*std::move(input));
  }
  for (const Tensor& input : inputs) views.push_back(input.view());
  ArenaPool pool;
  ContextOptions options;
  options.threads = threads;
  options.poison_before_run = true;
  auto context = Context::Create(program, pool, options);
  RunOptions run = FuzzRunOptions();
  run.sanitizer = sanitizer;
  if (!context.ok() || !(*context)->Run(views, outputs, run).ok()) return {};
  std::vector<std::byte> bytes;
  for (const Tensor& output : outputs) {
    bytes.insert(bytes.end(), output.bytes().begin(), output.bytes().end());
  }
  return bytes;
}

}  // namespace berth

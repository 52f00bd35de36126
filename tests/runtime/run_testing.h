// Running a compiled network in tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "berth/context.h"
#include "tests/planner/small_network.h"

namespace berth {

// Buffers of the program's inputs and outputs; inputs are random.
struct RunBuffers {
  explicit RunBuffers(const Program& program, uint64_t seed = 11) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    inputs.reserve(program.inputs().size());  // views point into them
    outputs.reserve(program.outputs().size());
    for (const TensorInfo& info : program.inputs()) {
      inputs.emplace_back(info.type);
      for (float& value : inputs.back().Values<float>()) value = uniform(random);
      input_views.push_back(inputs.back().view());
    }
    for (const TensorInfo& info : program.outputs()) {
      outputs.emplace_back(info.type);
      output_views.push_back(outputs.back().view());
    }
  }
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // All outputs after one another.
  std::vector<std::byte> OutputBytes() const {
    std::vector<std::byte> bytes;
    for (const Tensor& output : outputs) {
      bytes.insert(bytes.end(), output.bytes().begin(), output.bytes().end());
    }
    return bytes;
  }

  std::vector<Tensor> inputs, outputs;
  std::vector<ConstTensorView> input_views;
  std::vector<TensorView> output_views;
};

inline std::shared_ptr<const Program> SmallProgram() {
  auto program = Program::FromContents(CompileSmallNetwork());
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : nullptr;
}

inline std::unique_ptr<Context> MakeContext(std::shared_ptr<const Program> program, ArenaPool& pool,
                                            const ContextOptions& options = {}) {
  auto context = Context::Create(std::move(program), pool, options);
  EXPECT_TRUE(context.ok()) << context.status();
  return context.ok() ? *std::move(context) : nullptr;
}

// The outputs of one run in a context of its own.
inline std::vector<std::byte> RunOnce(std::shared_ptr<const Program> program,
                                      const ContextOptions& options = {}) {
  ArenaPool pool;
  RunBuffers buffers(*program);
  const std::unique_ptr<Context> context = MakeContext(program, pool, options);
  const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
  EXPECT_TRUE(status.ok()) << status;
  return buffers.OutputBytes();
}

}  // namespace berth

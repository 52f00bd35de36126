// Programs and buffers behind handles, for tests of the shared libraries.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/berth.h"
#include "planner/states.h"
#include "runtime/bundle/bundle.h"
#include "tests/planner/model_builder.h"
#include "tests/planner/small_network.h"

namespace berth {

template <auto Release>
struct Releaser {
  template <typename Handle>
  void operator()(Handle* handle) const {
    Release(handle);
  }
};
using ProgramHandle = std::unique_ptr<berth_program, Releaser<berth_program_release>>;
using PoolHandle = std::unique_ptr<berth_arena_pool, Releaser<berth_arena_pool_release>>;
using ContextHandle = std::unique_ptr<berth_context, Releaser<berth_context_release>>;
using ReportHandle = std::unique_ptr<berth_report, Releaser<berth_report_release>>;
using ListHandle = std::unique_ptr<berth_tensor_list, Releaser<berth_tensor_list_release>>;

#define EXPECT_API_OK(call) EXPECT_EQ(call, BERTH_OK) << berth_last_error_message()

// Expects the code and a part of the message.
inline void ExpectError(berth_status status, berth_status expected, const std::string& part) {
  EXPECT_EQ(status, expected) << berth_status_name(status) << ": " << berth_last_error_message();
  EXPECT_THAT(berth_last_error_message(), testing::HasSubstr(part));
}

// The small network, or a sum over all inputs that came so far as a state, as a bundle in a file.
struct BundleOnDisk {
  explicit BundleOnDisk(const BundleContents& contents) : path(folder.path() / "m.berth") {
    const absl::Status written = WriteBundle(path, contents);
    EXPECT_TRUE(written.ok()) << written;
  }
  ScratchFolder folder;
  std::string path;
};

inline BundleContents CompileRunningSum() {
  TestGraph t(3);
  const ValueId x = t.Input(Shape{2, 3});
  const ValueId before = t.Input(Shape{2, 3});
  t.graph.at(before).name = "before";
  const ValueId after = t.Apply(OpKind::kAdd, {x, before});
  t.graph.at(after).name = "after";
  t.Output(after);
  t.Output(t.Apply(OpKind::kRelu, {after}));
  const absl::Status bound = BindStates({{"before", "after", std::nullopt}}, t.graph);
  EXPECT_TRUE(bound.ok()) << bound;
  auto contents = CompileGraph(t.graph, SmallMachineOptions());
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? *std::move(contents) : BundleContents();
}

inline ProgramHandle LoadProgram(const std::string& path,
                                 const berth_load_options* options = nullptr) {
  berth_program* program = nullptr;
  EXPECT_API_OK(berth_program_load(path.c_str(), options, &program));
  return ProgramHandle(program);
}

inline PoolHandle MakePool(const berth_arena_pool_options* options = nullptr) {
  berth_arena_pool* pool = nullptr;
  EXPECT_API_OK(berth_arena_pool_create(options, &pool));
  return PoolHandle(pool);
}

inline ContextHandle MakeContextHandle(const ProgramHandle& program, const PoolHandle& pool) {
  berth_context_options options = berth_context_options_init();
  options.poison_before_run = 1;
  berth_context* context = nullptr;
  EXPECT_API_OK(berth_context_create(program.get(), pool.get(), &options, &context));
  return ContextHandle(context);
}

inline berth_tensor TensorOver(std::vector<float>& values) {
  berth_tensor tensor = {};
  tensor.data = values.data();
  tensor.size_bytes = values.size() * sizeof(float);
  return tensor;
}

inline std::vector<float> RampOf(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 0.01f * static_cast<float>(i % 97) - 0.4f;
  return values;
}

inline constexpr size_t kInputs = 3 * 12 * 12, kOutputs = 10;

// The small network behind handles, and buffers for it.
class CApi : public testing::Test {
 protected:
  CApi() : bundle(CompileSmallNetwork()), program(LoadProgram(bundle.path)), pool(MakePool()) {
    context = MakeContextHandle(program, pool);
  }
  berth_status Run(const berth_run_options* options = nullptr) {
    const berth_tensor from = TensorOver(input), to = TensorOver(output);
    return berth_context_run(context.get(), &from, 1, &to, 1, options, nullptr);
  }

  BundleOnDisk bundle;
  ProgramHandle program;
  PoolHandle pool;
  ContextHandle context;
  std::vector<float> input = RampOf(kInputs), output = std::vector<float>(kOutputs);
};

}  // namespace berth

// What the C API's functions share: the objects behind the handles, and tensors of the caller.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/c_boundary.h"
#include "base/log.h"
#include "berth/arena_pool.h"
#include "berth/berth.h"
#include "berth/context.h"
#include "berth/program.h"

// What a tensor info of the C API points to.
struct berth_described_tensor {
  std::string name, description;
  berth::TensorType type;
  bool has_free_shape = false;
  int32_t rank = 0;
  std::vector<int64_t> extents;  // -1: known when it runs
};

// What a program's handle and its contexts share.
struct berth_program_parts {
  std::shared_ptr<const berth::Program> program;
  std::vector<berth_described_tensor> inputs, outputs, states;
  berth::Logger logger;
};

struct berth_program {
  std::shared_ptr<const berth_program_parts> state;
};

struct berth_arena_pool {
  std::shared_ptr<berth::ArenaPool> pool;
};

struct berth_workers {
  std::shared_ptr<tbb::task_arena> arena;  // does not own it where it is the host's
};

struct berth_context {
  // What the context needs outlives it.
  std::shared_ptr<const berth_program_parts> program;
  std::shared_ptr<berth::ArenaPool> pool;
  std::shared_ptr<tbb::task_arena> workers;
  std::atomic<bool> is_busy{false};
  // Used again by every run, so that one in the steady state allocates nothing.
  std::vector<berth::ConstTensorView> input_views;
  std::vector<berth::TensorView> output_views;
  std::vector<int64_t> state_extents;  // of the last state that was asked for
  // Ends first, and with it a run in the background.
  std::unique_ptr<berth::Context> context;
};

struct berth_report {
  berth::SimReport report;
  int64_t int8_macs_per_cycle = 0;
  // Written when it is asked for.
  mutable std::once_flag json_once;
  mutable std::string json;
};

struct berth_tensor_list {
  std::shared_ptr<std::vector<berth::Tensor>> tensors;
};

namespace berth::c_api {

inline constexpr int32_t kMaxThreads = 1024;  // as of ContextOptions

// The caller's tensor as a view, where it says nothing of the declared type; InvalidArgument for
// what contradicts itself. Allocates nothing where `view` had this type before.
absl::Status ReadTensor(const berth_tensor& tensor, const berth_described_tensor& declared,
                        const char* role, size_t position, TensorView& view);
// `extents` must outlive the result.
berth_tensor ToTensor(const ConstTensorView& view, const std::vector<int64_t>& extents);

// A report of a run, for the caller; the machine is the program's.
std::unique_ptr<berth_report> MakeReport(SimReport report, const Program& program);

}  // namespace berth::c_api

// The offline planner: model in, bundle contents out. planner/compile.cc is the only place that
// lists the stages in order.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "base/stop.h"
#include "kernels/fold/evaluator.h"
#include "kernels/graph.h"
#include "npu_sim/config.h"
#include "planner/onnx/import.h"
#include "planner/schedule/schedule_progress.h"
#include "planner/states.h"
#include "runtime/bundle/contents.h"

namespace berth {

// What a compilation is at.
enum class CompileStage : uint8_t { kImport, kGraph, kOrder, kSchedule, kProof };

struct CompileOptions {
  NpuConfig config;
  // Pins the shape of an input by name ("--shape x=1x3x224x224").
  std::map<std::string, Shape> input_shapes;
  // The same by position among the inputs, for those that are not named above.
  std::vector<Shape> shapes_by_position;
  // Binds an input as a constant (it is then no input of the bundle).
  std::map<std::string, Tensor> constant_inputs;
  // Of a TFLite model (planner/onnx/import.h).
  StateMode state_mode = StateMode::kKeep;
  // Of a model in memory: the folder of its external data; empty: it may have none.
  std::string data_folder;
  // Outputs that are inputs of the next run: a context keeps them, the caller sees neither.
  std::vector<StateBinding> states;
  // kFloat16 or kBFloat16: a float32 model with constants and the values between ops at half size;
  // its inputs and outputs stay float32 (passes/half_storage.h).
  DType float_storage = DType::kFloat32;
  // A model with free dimensions, or whose shapes hang on what it computes, becomes a dynamic
  // bundle. Off: that is an error.
  bool dynamic = true;
  // Sizes that named free dimensions may take (VerifyRanges); a run with another is refused. Where
  // all are bounded the largest shape is planned, too (planner/maximum_plan.h).
  std::vector<DimRange> ranges;
  // Folds constants; null folds only what needs no arithmetic.
  ConstantEvaluator evaluator;
  // Loads are hoisted ahead of the computation that needs them, each tile into fresh bytes. Off:
  // the same tiles through one buffer each.
  bool double_buffer = true;
  // Values stay in scratchpad between ops; runs of ops are computed part by part.
  bool resident = true;
  bool stripes = true;
  // Elementwise ops run at the end of the op before them; ops may change their order; loads run
  // ahead across ops; several plans are tried.
  bool fuse = true;
  bool reorder = true;
  bool prefetch = true;
  bool search = true;
  // What a command counts beside its work where tiles are chosen: more than 0 for a program that is
  // made soon rather than one that runs soon.
  int64_t command_cycles = 0;
  // Highest pool height in bytes; 0: the machine's DRAM.
  int64_t pool_budget_bytes = 0;
  // Told how far the search for a schedule is (ScheduleOptions::progress).
  std::function<void(const ScheduleProgress&)> progress;
  // Told of every stage before it begins, by the thread that compiles. Dynamic models have the
  // stages of their largest shape.
  std::function<void(CompileStage)> on_stage;
  // The compilation ends before its next stage or the next step of its search, with Cancelled or
  // DeadlineExceeded.
  StopConditions stop;
  // Called with the text dump of every stage: "import", "graph", "order", "pool", "tiles",
  // "program".
  std::function<void(std::string_view stage, const std::string& text)> dump;
};

// Compiles a model file (ONNX or TFLite, by content or ending).
absl::StatusOr<BundleContents> CompileModel(const std::string& path, const CompileOptions& options);

// The same of a model file's bytes; of the format they are told by content alone.
absl::StatusOr<BundleContents> CompileModelBytes(absl::Span<const std::byte> model,
                                                 const CompileOptions& options);

// Compiles a graph that is already imported and whose inputs are known, to a static bundle.
absl::StatusOr<BundleContents> CompileGraph(Graph graph, const CompileOptions& options);

// The same within another compilation: std::bad_alloc passes, so that lack of memory is not taken
// for a plan that does not fit.
absl::StatusOr<BundleContents> CompileInnerGraph(Graph graph, const CompileOptions& options);

}  // namespace berth

// Runs in the background.
#include "base/no_memory.h"
#include "runtime/c_api/run.h"

namespace berth::c_api {
namespace {

// What one run needs until it ends, beside the context.
struct BackgroundRun {
  berth_context* context = nullptr;
  std::shared_ptr<const berth_program_parts> program;
  std::unique_ptr<berth_report> report;
  bool has_report = false;
  std::unique_ptr<berth_tensor_list> made;  // null: the caller's buffers
  berth_run_callback done = nullptr;        // one of these
  berth_run_alloc_callback done_making = nullptr;
  void* user = nullptr;
};

void Finish(BackgroundRun& run, const absl::Status& status) {
  if (!status.ok()) {
    Log(run.program->logger, LogLevel::kWarning, "a run failed: {}", ToStd(status.message()));
  }
  Turn::End(*run.context);  // the next run may begin in the callback
  const std::string message(ToStd(status.message()));
  const auto code = static_cast<berth_status>(status.code());
  berth_report* const report = status.ok() && run.has_report ? run.report.release() : nullptr;
  if (run.made == nullptr) {
    run.done(run.user, code, message.c_str(), report);
  } else {
    run.done_making(run.user, code, message.c_str(), status.ok() ? run.made.release() : nullptr,
                    report);
  }
}

// `run` has what tells of the end, and whether outputs are made.
absl::Status Begin(berth_context& context, const berth_run_options& options,
                   std::shared_ptr<BackgroundRun> run) {
  BERTH_ASSIGN_OR_RETURN(const RunOptions wanted, ToRunOptions(options));
  run->context = &context;
  run->program = context.program;
  run->report = MakeReport({}, *context.program->program);
  run->has_report = wanted.mode != RunMode::kValues;
  SimReport* const report = &run->report->report;
  const auto finish = [run](const absl::Status& status) { Finish(*run, status); };
  if (run->made == nullptr) {
    return context.context->RunAsync(context.input_views, context.output_views, finish, wanted,
                                     report);
  }
  return context.context->RunAsync(context.input_views, *run->made->tensors, finish, wanted,
                                   report);
}

// Takes the context's turn for a run that goes on after this: `read` takes the caller's tensors.
template <typename ReadTensors>
absl::Status BeginInTurn(berth_context& context, const berth_run_options* options,
                         std::shared_ptr<BackgroundRun> run, ReadTensors&& read_tensors) {
  BERTH_ASSIGN_OR_RETURN(const berth_run_options read, ReadOptions(options, "options"));
  Turn turn(context);
  BERTH_RETURN_IF_ERROR(turn.status());
  BERTH_RETURN_IF_ERROR(read_tensors(read));
  turn.Leave();  // before the run may end
  const absl::Status begun = CatchNoMemory([&] { return Begin(context, read, std::move(run)); });
  if (!begun.ok()) Turn::End(context);
  return begun;
}

}  // namespace
}  // namespace berth::c_api

extern "C" {

berth_status berth_context_run_async(berth_context* context, const berth_tensor* inputs,
                                     size_t input_count, const berth_tensor* outputs,
                                     size_t output_count, const berth_run_options* options,
                                     berth_run_callback done, void* user) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    if (done == nullptr) return berth::InvalidArgument("done is null");
    auto run = std::make_shared<berth::c_api::BackgroundRun>();
    run->done = done;
    run->user = user;
    const auto read = [&](const berth_run_options&) {
      BERTH_RETURN_IF_ERROR(berth::c_api::ReadInputs(*context, inputs, input_count));
      return berth::c_api::ReadOutputs(*context, outputs, output_count);
    };
    return berth::c_api::BeginInTurn(*context, options, std::move(run), read);
  });
}

berth_status berth_context_run_alloc_async(berth_context* context, const berth_tensor* inputs,
                                           size_t input_count, const berth_run_options* options,
                                           berth_run_alloc_callback done, void* user) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    if (done == nullptr) return berth::InvalidArgument("done is null");
    auto run = std::make_shared<berth::c_api::BackgroundRun>();
    run->made = std::make_unique<berth_tensor_list>();
    run->made->tensors = std::make_shared<std::vector<berth::Tensor>>();
    run->done_making = done;
    run->user = user;
    const auto read = [&](const berth_run_options& wanted) {
      if (berth::c_api::NeedsNoTensors(*context, wanted, input_count)) return absl::OkStatus();
      return berth::c_api::ReadInputs(*context, inputs, input_count);
    };
    return berth::c_api::BeginInTurn(*context, options, std::move(run), read);
  });
}

}  // extern "C"

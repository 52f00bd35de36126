// Runs in the background.
#include "runtime/c_api/run.h"

namespace berth::c_api {
namespace {

// What one run needs until it ends, beside the context.
struct BackgroundRun {
  berth_context* context = nullptr;
  std::shared_ptr<const berth_program_parts> program;
  std::unique_ptr<berth_report> report;
  bool has_report = false;
  berth_run_callback done = nullptr;
  void* user = nullptr;
};

void Finish(BackgroundRun& run, const absl::Status& status) {
  if (!status.ok()) {
    Log(run.program->logger, LogLevel::kWarning, "a run failed: {}", ToStd(status.message()));
  }
  Turn::End(*run.context);  // the next run may begin in the callback
  const std::string message(ToStd(status.message()));
  berth_report* const report = status.ok() && run.has_report ? run.report.release() : nullptr;
  run.done(run.user, static_cast<berth_status>(status.code()), message.c_str(), report);
}

absl::Status Begin(berth_context& context, const berth_run_options& options,
                   berth_run_callback done, void* user) {
  BERTH_ASSIGN_OR_RETURN(const RunOptions wanted, ToRunOptions(options));
  auto run = std::make_shared<BackgroundRun>();
  run->context = &context;
  run->program = context.program;
  run->report = MakeReport({}, *context.program->program);
  run->has_report = wanted.mode != RunMode::kValues;
  run->done = done;
  run->user = user;
  return context.context->RunAsync(
      context.input_views, context.output_views,
      [run](const absl::Status& status) { Finish(*run, status); }, wanted, &run->report->report);
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
    BERTH_ASSIGN_OR_RETURN(const berth_run_options read,
                           berth::c_api::ReadOptions(options, "options"));
    berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    BERTH_RETURN_IF_ERROR(berth::c_api::ReadInputs(*context, inputs, input_count));
    BERTH_RETURN_IF_ERROR(berth::c_api::ReadOutputs(*context, outputs, output_count));
    turn.Leave();  // before the run may end
    const absl::Status begun = berth::c_api::Begin(*context, read, done, user);
    if (!begun.ok()) berth::c_api::Turn::End(*context);
    return begun;
  });
}

}  // extern "C"

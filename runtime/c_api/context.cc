// Contexts: one request at a time, and its states.
#include <chrono>
#include <optional>

#include "runtime/c_api/run.h"

namespace berth::c_api {
namespace {

// That long from now; none for 0 and for what no clock reaches.
std::optional<std::chrono::steady_clock::time_point> DeadlineOf(int64_t timeout_ns) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds timeout(timeout_ns);
  if (timeout_ns <= 0 || timeout >= std::chrono::steady_clock::time_point::max() - now) return {};
  return now + timeout;
}

absl::Status CheckCount(const char* role, size_t count, size_t expected, const void* tensors) {
  if (count != expected) {
    return InvalidArgument("{} {}s given, {} expected", count, role, expected);
  }
  if (count > 0 && tensors == nullptr) return InvalidArgument("{}s is null", role);
  return absl::OkStatus();
}

absl::StatusOr<ContextOptions> ToContextOptions(const berth_context_options& options) {
  ContextOptions wanted;
  wanted.threads = options.threads == 0 ? 1 : options.threads;
  BERTH_ASSIGN_OR_RETURN(wanted.poison_before_run,
                         ReadFlag(options.poison_before_run, "poison_before_run"));
  if (options.arena_use != BERTH_ARENA_HELD && options.arena_use != BERTH_ARENA_WHILE_RUNNING) {
    return InvalidArgument("options: arena_use {} is none", options.arena_use);
  }
  if (options.create_timeout_ns < 0) {
    return InvalidArgument("options: create_timeout_ns {} is negative", options.create_timeout_ns);
  }
  wanted.arena_use = static_cast<ArenaUse>(options.arena_use);
  wanted.create_deadline = DeadlineOf(options.create_timeout_ns);
  return wanted;
}

}  // namespace

absl::StatusOr<RunOptions> ToRunOptions(const berth_run_options& options) {
  if (options.mode < BERTH_RUN_VALUES || options.mode > BERTH_RUN_BOTH) {
    return InvalidArgument("options: mode {} is none", options.mode);
  }
  if (options.timeout_ns < 0) {
    return InvalidArgument("options: timeout_ns {} is negative", options.timeout_ns);
  }
  RunOptions run;
  run.mode = static_cast<RunMode>(options.mode);
  run.deadline = DeadlineOf(options.timeout_ns);
  return run;
}

absl::Status Turn::status() const {
  if (is_mine_) return absl::OkStatus();
  return FailedPrecondition("the context is in use by another thread; make one for each");
}

absl::Status ReadInputs(berth_context& context, const berth_tensor* inputs, size_t count) {
  const std::vector<berth_described_tensor>& declared = context.program->inputs;
  BERTH_RETURN_IF_ERROR(CheckCount("input", count, declared.size(), inputs));
  TensorView view;
  for (size_t i = 0; i < count; ++i) {
    // The type moves in and out again, so that its extents keep their memory.
    view.type = std::move(context.input_views[i].type);
    const absl::Status status = ReadTensor(inputs[i], declared[i], "input", i, view);
    context.input_views[i].type = std::move(view.type);
    context.input_views[i].data = view.data;
    BERTH_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status ReadOutputs(berth_context& context, const berth_tensor* outputs, size_t count) {
  const std::vector<berth_described_tensor>& declared = context.program->outputs;
  BERTH_RETURN_IF_ERROR(CheckCount("output", count, declared.size(), outputs));
  for (size_t i = 0; i < count; ++i) {
    BERTH_RETURN_IF_ERROR(
        ReadTensor(outputs[i], declared[i], "output", i, context.output_views[i]));
  }
  return absl::OkStatus();
}

bool NeedsNoTensors(const berth_context& context, const berth_run_options& options,
                    size_t tensor_count) {
  return options.mode == BERTH_RUN_CYCLES && tensor_count == 0 &&
         !context.program->program->is_dynamic();
}

absl::Status RunViews(berth_context& context, const berth_run_options& options,
                      std::vector<Tensor>* made, berth_report** report) {
  BERTH_ASSIGN_OR_RETURN(const RunOptions run, ToRunOptions(options));
  SimReport simulated;
  const absl::Status status =
      made != nullptr
          ? context.context->Run(context.input_views, *made, run, &simulated)
          : context.context->Run(context.input_views, context.output_views, run, &simulated);
  if (!status.ok()) {
    Log(context.program->logger, LogLevel::kWarning, "a run failed: {}", ToStd(status.message()));
    return status;
  }
  if (report == nullptr) return absl::OkStatus();
  *report = run.mode == RunMode::kValues
                ? nullptr
                : MakeReport(std::move(simulated), *context.program->program).release();
  return absl::OkStatus();
}

}  // namespace berth::c_api

extern "C" {

berth_status berth_context_create(berth_program* program, berth_arena_pool* pool,
                                  const berth_context_options* options, berth_context** context) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    BERTH_REQUIRE(pool);
    BERTH_REQUIRE(context);
    BERTH_ASSIGN_OR_RETURN(const berth_context_options read,
                           berth::c_api::ReadOptions(options, "options"));
    BERTH_ASSIGN_OR_RETURN(berth::ContextOptions wanted, berth::c_api::ToContextOptions(read));
    auto made = std::make_unique<berth_context>();
    made->program = program->state;
    made->pool = pool->pool;
    if (read.workers != nullptr) {
      made->workers = read.workers->arena;
      wanted.arena = made->workers.get();
    }
    made->input_views.resize(made->program->inputs.size());
    made->output_views.resize(made->program->outputs.size());
    BERTH_ASSIGN_OR_RETURN(made->context,
                           berth::Context::Create(made->program->program, *made->pool, wanted));
    *context = made.release();
    return absl::OkStatus();
  });
}

void berth_context_release(berth_context* context) { delete context; }

berth_status berth_context_run(berth_context* context, const berth_tensor* inputs,
                               size_t input_count, const berth_tensor* outputs, size_t output_count,
                               const berth_run_options* options, berth_report** report) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    BERTH_ASSIGN_OR_RETURN(const berth_run_options read,
                           berth::c_api::ReadOptions(options, "options"));
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    if (!berth::c_api::NeedsNoTensors(*context, read, input_count + output_count)) {
      BERTH_RETURN_IF_ERROR(berth::c_api::ReadInputs(*context, inputs, input_count));
      BERTH_RETURN_IF_ERROR(berth::c_api::ReadOutputs(*context, outputs, output_count));
    }
    return berth::c_api::RunViews(*context, read, nullptr, report);
  });
}

berth_status berth_context_run_alloc(berth_context* context, const berth_tensor* inputs,
                                     size_t input_count, const berth_run_options* options,
                                     berth_tensor_list** outputs, berth_report** report) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    BERTH_REQUIRE(outputs);
    BERTH_ASSIGN_OR_RETURN(const berth_run_options read,
                           berth::c_api::ReadOptions(options, "options"));
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    if (!berth::c_api::NeedsNoTensors(*context, read, input_count)) {
      BERTH_RETURN_IF_ERROR(berth::c_api::ReadInputs(*context, inputs, input_count));
    }
    auto list = std::make_unique<berth_tensor_list>();
    list->tensors = std::make_shared<std::vector<berth::Tensor>>();
    BERTH_RETURN_IF_ERROR(berth::c_api::RunViews(*context, read, list->tensors.get(), report));
    *outputs = list.release();
    return absl::OkStatus();
  });
}

berth_status berth_context_cancel(berth_context* context) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    context->context->Cancel();
    return absl::OkStatus();
  });
}

berth_status berth_context_reset_states(berth_context* context) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    context->context->ResetState();
    return absl::OkStatus();
  });
}

berth_status berth_context_get_state(berth_context* context, size_t position, berth_tensor* value) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    BERTH_REQUIRE(value);
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    const size_t count = context->program->states.size();
    if (position >= count) return berth::InvalidArgument("state {} of {}", position, count);
    const berth::ConstTensorView view = context->context->state(position);
    if (view.type.dtype == berth::DType::kUndefined) {
      return berth::FailedPrecondition("state {} ('{}') has no value before a run", position,
                                       context->program->states[position].name);
    }
    context->state_extents = view.type.shape.extents();
    *value = berth::c_api::ToTensor(view, context->state_extents);
    return absl::OkStatus();
  });
}

berth_status berth_context_set_state(berth_context* context, size_t position,
                                     const berth_tensor* value) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    BERTH_REQUIRE(value);
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    const std::vector<berth_described_tensor>& states = context->program->states;
    if (position >= states.size()) {
      return berth::InvalidArgument("state {} of {}", position, states.size());
    }
    berth::TensorView view;
    BERTH_RETURN_IF_ERROR(
        berth::c_api::ReadTensor(*value, states[position], "state", position, view));
    return context->context->SetState(position, view);
  });
}

}  // extern "C"

// Programs: loading, and what can be asked of one.
#include <algorithm>
#include <cstdlib>

#include "runtime/bundle/lowering_handle.h"
#include "runtime/c_api/api.h"

namespace berth::c_api {
namespace {

absl::StatusOr<DynamicOptions> ToDynamicOptions(const berth_load_options& options) {
  DynamicOptions dynamic;
  if (options.cache_bytes < 0 || options.pool_limit_bytes < 0 || options.step_limit < 0 ||
      options.plan_after_runs < 0) {
    return InvalidArgument(
        "options: cache_bytes {}, pool_limit_bytes {}, step_limit {}, plan_after_runs {}: none may "
        "be negative",
        options.cache_bytes, options.pool_limit_bytes, options.step_limit, options.plan_after_runs);
  }
  if (options.cache_bytes > 0) dynamic.cache_bytes = options.cache_bytes;
  if (options.step_limit > 0) dynamic.step_limit = options.step_limit;
  dynamic.pool_limit_bytes = options.pool_limit_bytes;
  if (options.lowering == nullptr) return dynamic;
  if (std::string_view(options.lowering->build) != BuildIdentity()) {
    return FailedPrecondition("options: the lowering is of another build: {}, the runtime's is {}",
                              options.lowering->build, BuildIdentity());
  }
  dynamic.lower = options.lowering->fast;
  if (options.plan_after_runs > 0) {
    dynamic.plan = options.lowering->full;
    dynamic.hot_runs = options.plan_after_runs;
  }
  return dynamic;
}

berth_described_tensor Describe(const TensorInfo& info) {
  berth_described_tensor described{info.name, DescribeTensor(info), info.type, info.has_free_shape};
  if (!info.has_free_shape) {
    described.extents = info.type.shape.extents();
  } else if (info.has_declared_rank) {
    for (const Dim& dim : info.dims) described.extents.push_back(dim.extent);
  }
  const bool has_rank = !info.has_free_shape || info.has_declared_rank;
  described.rank = has_rank ? static_cast<int32_t>(described.extents.size()) : -1;
  return described;
}

std::unique_ptr<berth_program> MakeHandle(std::shared_ptr<const Program> program, Logger logger) {
  auto handle = std::make_shared<berth_program_parts>();
  for (const TensorInfo& info : program->inputs()) handle->inputs.push_back(Describe(info));
  for (const TensorInfo& info : program->outputs()) handle->outputs.push_back(Describe(info));
  for (const StateInfo& state : program->states()) {
    handle->states.push_back(Describe(program->bundle().info().inputs[state.input]));
    handle->states.back().name = state.name;
  }
  handle->program = std::move(program);
  handle->logger = std::move(logger);
  return std::make_unique<berth_program>(berth_program{std::move(handle)});
}

// What the two ways to load share; `load` makes the program.
template <typename LoadProgram>
absl::Status LoadInto(const berth_load_options* given, berth_program** program,
                      LoadProgram&& load) {
  BERTH_REQUIRE(program);
  BERTH_ASSIGN_OR_RETURN(const berth_load_options options, ReadOptions(given, "options"));
  if (options.level != BERTH_LOAD_FULL && options.level != BERTH_LOAD_TRUSTED) {
    return InvalidArgument("options: level {} is none", options.level);
  }
  BERTH_ASSIGN_OR_RETURN(DynamicOptions dynamic, ToDynamicOptions(options));
  Logger logger = LoggerOf(options.log.callback, options.log.user, options.log.level);
  absl::StatusOr<std::shared_ptr<const Program>> loaded =
      load(options, static_cast<LoadLevel>(options.level), std::move(dynamic), logger);
  if (!loaded.ok()) {
    Log(logger, LogLevel::kError, "not loaded: {}", ToStd(loaded.status().message()));
    return loaded.status();
  }
  *program = MakeHandle(*std::move(loaded), std::move(logger)).release();
  return absl::OkStatus();
}

struct FreeBytes {
  void operator()(void* bytes) const { std::free(bytes); }
};

// The caller's bytes, or a copy of them that is aligned.
absl::StatusOr<std::shared_ptr<const void>> Own(const void* bytes, size_t size_bytes, bool borrow) {
  if (borrow) return std::shared_ptr<const void>(bytes, [](const void*) {});
  const size_t padded = (size_bytes + kBundleAlignmentBytes - 1) / kBundleAlignmentBytes;
  if (padded == 0 || size_bytes > PTRDIFF_MAX) {
    return InvalidArgument("size_bytes: {} is no size of a bundle", size_bytes);
  }
  std::unique_ptr<void, FreeBytes> copy(
      std::aligned_alloc(kBundleAlignmentBytes, padded * kBundleAlignmentBytes));
  if (copy == nullptr) return ResourceExhausted("{} bytes for a copy of the bundle", size_bytes);
  std::memcpy(copy.get(), bytes, size_bytes);
  return std::shared_ptr<const void>(std::move(copy));
}

absl::Status WriteInfo(const std::vector<berth_described_tensor>& tensors, const char* role,
                       size_t position, berth_tensor_info* result) {
  if (position >= tensors.size()) {
    return InvalidArgument("{} {} of {}", role, position, tensors.size());
  }
  const berth_described_tensor& tensor = tensors[position];
  berth_tensor_info info{};
  info.name = tensor.name.c_str();
  info.name_bytes = tensor.name.size();
  info.description = tensor.description.c_str();
  info.dtype = static_cast<berth_dtype>(tensor.type.dtype);
  info.rank = tensor.rank;
  info.extents = tensor.extents.data();
  info.size_bytes = tensor.has_free_shape ? -1 : tensor.type.ByteCount();
  return WriteStruct(info, result, "info");
}

}  // namespace
}  // namespace berth::c_api

extern "C" {

berth_status berth_program_load(const char* path, const berth_load_options* options,
                                berth_program** program) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(path);
    return berth::c_api::LoadInto(
        options, program,
        [path](const berth_load_options&, berth::LoadLevel level, berth::DynamicOptions dynamic,
               const berth::Logger& logger) {
          return berth::Program::Load(path, level, std::move(dynamic), logger);
        });
  });
}

berth_status berth_program_load_memory(const void* bytes, size_t size_bytes,
                                       const berth_load_options* options, berth_program** program) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(bytes);
    return berth::c_api::LoadInto(
        options, program,
        [=](const berth_load_options& read, berth::LoadLevel level, berth::DynamicOptions dynamic,
            const berth::Logger& logger) -> absl::StatusOr<std::shared_ptr<const berth::Program>> {
          BERTH_ASSIGN_OR_RETURN(const bool borrow,
                                 berth::c_api::ReadFlag(read.borrow_memory, "borrow_memory"));
          BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const void> owner,
                                 berth::c_api::Own(bytes, size_bytes, borrow));
          const auto* const begin = static_cast<const std::byte*>(owner.get());
          return berth::Program::FromMemory({begin, size_bytes}, std::move(owner), level,
                                            std::move(dynamic), logger);
        });
  });
}

void berth_program_release(berth_program* program) { delete program; }

size_t berth_program_input_count(const berth_program* program) {
  return program == nullptr ? 0 : program->state->inputs.size();
}
size_t berth_program_output_count(const berth_program* program) {
  return program == nullptr ? 0 : program->state->outputs.size();
}
size_t berth_program_state_count(const berth_program* program) {
  return program == nullptr ? 0 : program->state->states.size();
}
int32_t berth_program_is_dynamic(const berth_program* program) {
  return program != nullptr && program->state->program->is_dynamic() ? 1 : 0;
}

berth_status berth_program_input(const berth_program* program, size_t position,
                                 berth_tensor_info* info) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    return berth::c_api::WriteInfo(program->state->inputs, "input", position, info);
  });
}

berth_status berth_program_output(const berth_program* program, size_t position,
                                  berth_tensor_info* info) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    return berth::c_api::WriteInfo(program->state->outputs, "output", position, info);
  });
}

berth_status berth_program_state(const berth_program* program, size_t position,
                                 berth_tensor_info* info) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    return berth::c_api::WriteInfo(program->state->states, "state", position, info);
  });
}

berth_status berth_program_memory(const berth_program* program, berth_memory* memory) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    const berth::MemoryRequirements& needed = program->state->program->memory();
    berth_memory result{};
    result.constants_bytes = needed.constants_bytes;
    result.arena_bytes = program->state->program->ArenaBytes(1);
    result.pool_bytes = needed.pool_bytes;
    result.scratchpad_bytes = needed.scratchpad_bytes;
    result.accumulator_bytes = needed.accumulator_bytes;
    result.state_bytes = needed.state_bytes;
    return berth::c_api::WriteStruct(result, memory, "memory");
  });
}

int64_t berth_program_arena_bytes(const berth_program* program, int32_t threads) {
  if (program == nullptr || threads < 0 || threads > berth::c_api::kMaxThreads) return 0;
  return program->state->program->ArenaBytes(std::max(threads, 1));
}

berth_status berth_program_simulate(const berth_program* program, berth_report** report) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    BERTH_REQUIRE(report);
    BERTH_ASSIGN_OR_RETURN(berth::SimReport simulated, program->state->program->Simulate());
    *report = berth::c_api::MakeReport(std::move(simulated), *program->state->program).release();
    return absl::OkStatus();
  });
}

berth_status berth_program_dynamic_statistics(const berth_program* program,
                                              berth_dynamic_statistics* statistics) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(program);
    const berth::DynamicStatistics found = program->state->program->dynamic_statistics();
    berth_dynamic_statistics result{};
    result.specializations = found.specializations;
    result.reused = found.reused;
    result.evicted = found.evicted;
    result.planned = found.planned;
    result.cached = found.cached;
    result.cached_bytes = found.cached_bytes;
    result.pool_peak_bytes = found.pool_peak_bytes;
    result.pool_reserved_bytes = found.pool_reserved_bytes;
    return berth::c_api::WriteStruct(result, statistics, "statistics");
  });
}

}  // extern "C"

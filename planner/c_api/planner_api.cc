// The planner's C API.
#include <cstdlib>

#include "base/c_boundary.h"
#include "berth/berth_planner.h"
#include "kernels/reference/reference.h"
#include "planner/c_api/compile_progress.h"
#include "planner/compile.h"
#include "planner/lower_shape.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/layout.h"
#include "runtime/bundle/lowering_handle.h"

namespace berth::c_api {
namespace {

constexpr int32_t kMaxRank = 64;

// Arrays of the caller: a count goes with a pointer, and every name is there.
template <typename Item>
absl::StatusOr<absl::Span<const Item>> ReadArray(const Item* items, size_t count,
                                                 const char* name) {
  if (count > 0 && items == nullptr) return InvalidArgument("{}: null for {} entries", name, count);
  return absl::Span<const Item>(items, count);
}

absl::Status ReadShapes(const berth_compile_options& given, CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const auto shapes, ReadArray(given.shapes, given.shape_count, "shapes"));
  for (const berth_named_shape& shape : shapes) {
    BERTH_RETURN_IF_ERROR(CheckNotNull(shape.name, "name of a shape"));
    if (shape.rank < 0 || shape.rank > kMaxRank || (shape.rank > 0 && shape.extents == nullptr)) {
      return InvalidArgument("shape of '{}': rank {}, extents {}", shape.name, shape.rank,
                             shape.extents == nullptr ? "null" : "given");
    }
    auto pinned = Shape::Create({shape.extents, shape.extents + shape.rank});
    if (!pinned.ok()) return Annotate(pinned.status(), fmt::format("shape of '{}'", shape.name));
    options.input_shapes[shape.name] = *std::move(pinned);
  }
  return absl::OkStatus();
}

absl::Status ReadNames(const berth_compile_options& given, CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const auto ranges, ReadArray(given.ranges, given.range_count, "ranges"));
  for (const berth_named_range& range : ranges) {
    BERTH_RETURN_IF_ERROR(CheckNotNull(range.name, "name of a range"));
    options.ranges.push_back({range.name, range.low, range.high});
  }
  BERTH_ASSIGN_OR_RETURN(const auto states, ReadArray(given.states, given.state_count, "states"));
  for (const berth_named_state& state : states) {
    BERTH_RETURN_IF_ERROR(CheckNotNull(state.input, "input of a state"));
    BERTH_RETURN_IF_ERROR(CheckNotNull(state.output, "output of a state"));
    options.states.push_back({state.input, state.output, std::nullopt});
  }
  return absl::OkStatus();
}

absl::Status ReadChoices(const berth_compile_options& given, CompileOptions& options) {
  switch (given.float_storage) {
    case BERTH_DTYPE_UNDEFINED:
    case BERTH_FLOAT32:
      break;
    case BERTH_FLOAT16:
    case BERTH_BFLOAT16:
      options.float_storage = static_cast<DType>(given.float_storage);
      break;
    default:
      return InvalidArgument("float_storage: {} is not float32, float16 or bfloat16",
                             given.float_storage);
  }
  constexpr StateMode kModes[] = {StateMode::kKeep, StateMode::kExpose, StateMode::kFresh};
  if (given.tflite_states < 0 || given.tflite_states > BERTH_STATES_FRESH) {
    return InvalidArgument("tflite_states: {} is none", given.tflite_states);
  }
  options.state_mode = kModes[given.tflite_states];
  if (given.pool_budget_bytes < 0) {
    return InvalidArgument("pool_budget_bytes: {} is negative", given.pool_budget_bytes);
  }
  options.pool_budget_bytes = given.pool_budget_bytes;
  BERTH_ASSIGN_OR_RETURN(const bool static_only, ReadFlag(given.static_only, "static_only"));
  BERTH_ASSIGN_OR_RETURN(const bool fast, ReadFlag(given.fast, "fast"));
  options.dynamic = !static_only;
  options.search = !fast;
  return absl::OkStatus();
}

absl::StatusOr<CompileOptions> ToCompileOptions(const berth_compile_options& given) {
  CompileOptions options;
  BERTH_ASSIGN_OR_RETURN(options.config,
                         LoadTarget(given.target == nullptr ? "mobile" : given.target));
  options.evaluator = EvaluateNode;
  if (given.data_folder != nullptr) options.data_folder = given.data_folder;
  BERTH_RETURN_IF_ERROR(ReadShapes(given, options));
  BERTH_RETURN_IF_ERROR(ReadNames(given, options));
  BERTH_RETURN_IF_ERROR(ReadChoices(given, options));
  return options;
}

// What the two ways to compile share: `compile` makes the contents, `write` takes them. The names
// of model and bundle are for the log.
template <typename CompileSource, typename Write>
absl::Status CompileTo(std::string_view model, std::string_view bundle,
                       const berth_compile_options& given, CompileSource&& compile, Write&& write) {
  const Logger logger = LoggerOf(given.log.callback, given.log.user, given.log.level);
  BERTH_ASSIGN_OR_RETURN(CompileOptions options, ToCompileOptions(given));
  CompileProgress progress(given.progress, given.progress_user);
  progress.Watch(options);
  BERTH_ASSIGN_OR_RETURN(const BundleContents contents, compile(options));
  BERTH_RETURN_IF_ERROR(progress.Tell(BERTH_STAGE_WRITE));
  BERTH_RETURN_IF_ERROR(write(contents));
  Log(logger, LogLevel::kInfo, "{} planned for '{}' in {:.0f} ms: {}, {} commands, {}", model,
      contents.config.name, contents.compile_ms, contents.dynamic ? "dynamic" : "static",
      contents.program.commands.size(), bundle);
  return absl::OkStatus();
}

absl::Status CompileFile(const char* model_path, const char* bundle_path,
                         const berth_compile_options& given) {
  return CompileTo(
      fmt::format("'{}'", model_path), fmt::format("'{}'", bundle_path), given,
      [&](const CompileOptions& options) { return CompileModel(model_path, options); },
      [&](const BundleContents& contents) { return WriteBundle(bundle_path, contents); });
}

// The bytes of a bundle where a runtime may use them in place.
absl::Status Allocate(const std::vector<std::byte>& bytes, void** bundle, size_t* bundle_bytes) {
  static_assert(kBundlePageBytes % kBundleAlignmentBytes == 0);  // whole pages are such multiples
  void* const copy = std::aligned_alloc(kBundleAlignmentBytes, bytes.size());
  if (copy == nullptr) return ResourceExhausted("{} bytes for the bundle", bytes.size());
  std::memcpy(copy, bytes.data(), bytes.size());
  *bundle = copy;
  *bundle_bytes = bytes.size();
  return absl::OkStatus();
}

absl::Status CompileMemory(absl::Span<const std::byte> model, const berth_compile_options& given,
                           void** bundle, size_t* bundle_bytes) {
  return CompileTo(
      fmt::format("a model of {} bytes in memory", model.size()), "in memory", given,
      [&](const CompileOptions& options) { return CompileModelBytes(model, options); },
      [&](const BundleContents& contents) {
        return Allocate(SerializeBundle(contents), bundle, bundle_bytes);
      });
}

}  // namespace
}  // namespace berth::c_api

extern "C" {

uint32_t berth_planner_abi_version(void) { return BERTH_PLANNER_ABI_VERSION; }

const char* berth_planner_last_error_message(void) { return berth::c_api::LastMessage(); }

berth_status berth_planner_lowering(const berth_lowering** lowering) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(lowering);
    static const berth_lowering kLowering = {berth::BuildIdentity(),
                                             berth::MakeFastLowering(berth::EvaluateNode),
                                             berth::MakeFullLowering(berth::EvaluateNode)};
    *lowering = &kLowering;
    return absl::OkStatus();
  });
}

berth_status berth_planner_compile(const char* model_path, const char* bundle_path,
                                   const berth_compile_options* options) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(model_path);
    BERTH_REQUIRE(bundle_path);
    BERTH_ASSIGN_OR_RETURN(const berth_compile_options read,
                           berth::c_api::ReadOptions(options, "options"));
    return berth::c_api::CompileFile(model_path, bundle_path, read);
  });
}

berth_status berth_planner_compile_memory(const void* model, size_t model_bytes,
                                          const berth_compile_options* options, void** bundle,
                                          size_t* bundle_bytes) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(model);
    BERTH_REQUIRE(bundle);
    BERTH_REQUIRE(bundle_bytes);
    BERTH_ASSIGN_OR_RETURN(const berth_compile_options read,
                           berth::c_api::ReadOptions(options, "options"));
    const auto* const bytes = static_cast<const std::byte*>(model);
    return berth::c_api::CompileMemory({bytes, model_bytes}, read, bundle, bundle_bytes);
  });
}

void berth_planner_free(void* bundle) { std::free(bundle); }

}  // extern "C"

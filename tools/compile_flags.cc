#include "tools/compile_flags.h"

#include <algorithm>
#include <charconv>

#include "kernels/reference/reference.h"
#include "tools/npy.h"

namespace berth {

void AddCompileFlags(CLI::App& command, CompileFlags& flags) {
  command
      .add_option("--target", flags.target,
                  "Machine: a preset (see `berth targets`) or a .json file")
      ->capture_default_str();
  command.add_option("--shape", flags.shapes, "Shape of an input: name=1x3x224x224 (repeatable)");
  command.add_option(
      "--range", flags.ranges,
      "Sizes that a free dimension may take: name=1:8 (repeatable); runs with others "
      "are refused, and where all are bounded the largest shape is planned, too");
  command.add_option("--dump", flags.dump_stages,
                     "Print a stage's text: import, graph, order, pool, tiles, program");
  command
      .add_option("--without", flags.without,
                  "Leaves out a means, to see what it is worth (repeatable): fusion (elementwise "
                  "ops at the end of others), order (of ops), residency (values on chip between "
                  "ops), stripes (runs of ops part by part), prefetch (loads ahead across ops), "
                  "search (more than one plan)")
      ->check(CLI::IsMember({"fusion", "order", "residency", "stripes", "prefetch", "search"}));
  command.add_flag("--no-double-buffer", flags.no_double_buffer,
                   "The same tiles through one buffer each");
  CLI::Option* expose = command.add_flag("--expose-state", flags.expose_state,
                                         "States of a TFLite model become inputs and outputs");
  command
      .add_flag("--fresh-state", flags.fresh_state,
                "States of a TFLite model begin anew in every run")
      ->excludes(expose);
  command.add_option("--state", flags.states,
                     "An output that is an input of the next run: input=output (repeatable); "
                     "contexts keep it from run to run");
  command.add_option("--initial-state", flags.initial_states,
                     "What a --state holds at first: input=file.npy (repeatable); else zeros");
  command
      .add_option("--dtype", flags.dtype,
                  "Storage of floats: fp16 and bf16 keep weights and activations at half size and "
                  "compute in float32")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command.add_option("--pool-budget", flags.pool_budget_bytes, "Highest pool in bytes")
      ->check(CLI::PositiveNumber);
}

absl::StatusOr<Shape> ParseShape(std::string_view text) {
  if (text == "scalar") return Shape{};
  std::vector<int64_t> extents;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) {
      return InvalidArgument("shape '{}': expected sizes such as 1x3x224x224", text);
    }
    extents.push_back(extent);
    if (next == end) break;
    if (*next != 'x' && *next != ',') {
      return InvalidArgument("shape '{}': expected sizes such as 1x3x224x224", text);
    }
    at = next + 1;
  }
  return Shape::Create(std::move(extents));
}

absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& text,
                                                                    std::string_view flag) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("{} '{}': expected name=value", flag, text);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::StatusOr<DimRange> ParseRange(const std::string& text) {
  BERTH_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment(text, "--range"));
  const std::string& bounds = assignment.second;
  DimRange range{assignment.first};
  const char* const end = bounds.data() + bounds.size();
  const auto low = std::from_chars(bounds.data(), end, range.low);
  if (low.ec == std::errc() && low.ptr != end && *low.ptr == ':') {
    const auto high = std::from_chars(low.ptr + 1, end, range.high);
    if (high.ec == std::errc() && high.ptr == end) return range;
  }
  return InvalidArgument("--range '{}': expected two sizes, such as name=1:8", text);
}

namespace {

absl::StatusOr<std::vector<StateBinding>> ParseStates(const CompileFlags& flags) {
  std::vector<StateBinding> states;
  for (const std::string& text : flags.states) {
    BERTH_ASSIGN_OR_RETURN(auto assignment, SplitAssignment(text, "--state"));
    states.push_back({std::move(assignment.first), std::move(assignment.second), std::nullopt});
  }
  for (const std::string& text : flags.initial_states) {
    BERTH_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment(text, "--initial-state"));
    const auto state = std::find_if(states.begin(), states.end(), [&](const StateBinding& s) {
      return s.input == assignment.first;
    });
    if (state == states.end()) {
      return InvalidArgument("--initial-state '{}': no --state of that input", text);
    }
    BERTH_ASSIGN_OR_RETURN(state->initial, ReadNpy(assignment.second));
  }
  return states;
}

}  // namespace

absl::StatusOr<CompileOptions> ToCompileOptions(const CompileFlags& flags) {
  CompileOptions options;
  BERTH_ASSIGN_OR_RETURN(options.config, LoadTarget(flags.target));
  for (const std::string& text : flags.shapes) {
    BERTH_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment(text, "--shape"));
    BERTH_ASSIGN_OR_RETURN(options.input_shapes[assignment.first], ParseShape(assignment.second));
  }
  for (const std::string& text : flags.ranges) {
    BERTH_ASSIGN_OR_RETURN(DimRange range, ParseRange(text));
    options.ranges.push_back(std::move(range));
  }
  options.evaluator = EvaluateNode;
  options.double_buffer = !flags.no_double_buffer;
  options.float_storage = flags.dtype == "fp16"   ? DType::kFloat16
                          : flags.dtype == "bf16" ? DType::kBFloat16
                                                  : DType::kFloat32;
  options.state_mode = flags.expose_state  ? StateMode::kExpose
                       : flags.fresh_state ? StateMode::kFresh
                                           : StateMode::kKeep;
  BERTH_ASSIGN_OR_RETURN(options.states, ParseStates(flags));
  const auto with = [&flags](std::string_view means) {
    return std::find(flags.without.begin(), flags.without.end(), means) == flags.without.end();
  };
  options.fuse = with("fusion");
  options.reorder = with("order");
  options.resident = with("residency");
  options.stripes = with("stripes");
  options.prefetch = with("prefetch");
  options.search = with("search");
  options.pool_budget_bytes = flags.pool_budget_bytes;
  if (!flags.dump_stages.empty()) {
    options.dump = [stages = flags.dump_stages](std::string_view stage, const std::string& text) {
      for (const std::string& wanted : stages) {
        if (wanted == stage) fmt::print("--- {}\n{}", stage, text);
      }
    };
  }
  return options;
}

}  // namespace berth

// berth layer gemm|conv|depthwise
#include <memory>

#include "npu_sim/timing.h"
#include "tools/command.h"
#include "tools/compile_flags.h"
#include "tools/json_output.h"
#include "tools/layer_program.h"
#include "tools/native_layer.h"
#include "tools/progress.h"
#include "tools/report_text.h"

namespace berth {
namespace {

struct Flags {
  Layer layer;
  std::string input, filter;  // HxWxC, RxSxCxK
  std::string dtype = "int8", target = "mobile";
  bool array_only = false, json = false;
};

absl::StatusOr<DType> ParseDType(std::string_view name) {
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    if (DTypeName(dtype) == name) return dtype;
  }
  return InvalidArgument("--dtype '{}', allowed: int8, float16, bfloat16, float32", name);
}

absl::StatusOr<std::vector<int64_t>> ParseExtents(std::string_view flag, const std::string& text,
                                                  size_t least, size_t most,
                                                  std::string_view form) {
  const absl::StatusOr<Shape> shape = ParseShape(text);
  std::vector<int64_t> extents;
  if (shape.ok()) extents.assign(shape->begin(), shape->end());
  if (extents.size() >= least && extents.size() <= most) return extents;
  return InvalidArgument("{} '{}': expected {}", flag, text, form);
}

absl::Status ParseInput(const Flags& flags, Layer& layer) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> extents,
                         ParseExtents("--input", flags.input, 3, 3, "HxWxC, such as 56x56x64"));
  layer.input_height = extents[0];
  layer.input_width = extents[1];
  layer.input_channels = extents[2];
  return absl::OkStatus();
}

absl::Status ParseConvFilter(const Flags& flags, Layer& layer) {
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<int64_t> extents,
      ParseExtents("--filter", flags.filter, 4, 4, "RxSxCxK, such as 3x3x64x128"));
  layer.filter_height = extents[0];
  layer.filter_width = extents[1];
  layer.filters = extents[3];
  if (layer.groups < 1 || extents[2] * layer.groups != layer.input_channels) {
    return InvalidArgument(
        "--filter '{}': sees {} channels in each of {} groups, the input '{}' has {}", flags.filter,
        extents[2], layer.groups, flags.input, layer.input_channels);
  }
  return absl::OkStatus();
}

// RxS: as many filters as channels. RxSxCxM: M filters for each channel.
absl::Status ParseDepthwiseFilter(const Flags& flags, Layer& layer) {
  BERTH_ASSIGN_OR_RETURN(
      std::vector<int64_t> extents,
      ParseExtents("--filter", flags.filter, 2, 4, "RxS, such as 3x3, or RxSxCxM"));
  layer.filter_height = extents[0];
  layer.filter_width = extents[1];
  if (extents.size() < 3) extents.push_back(layer.input_channels);
  if (extents.size() < 4) extents.push_back(1);
  if (extents[2] != layer.input_channels) {
    return InvalidArgument("--filter '{}': for {} channels, the input '{}' has {}", flags.filter,
                           extents[2], flags.input, layer.input_channels);
  }
  layer.groups = layer.input_channels;
  layer.filters = layer.input_channels * std::min<int64_t>(extents[3], int64_t{1} << 24);
  return absl::OkStatus();
}

absl::StatusOr<Layer> ParseLayer(const Flags& flags) {
  Layer layer = flags.layer;
  BERTH_ASSIGN_OR_RETURN(layer.dtype, ParseDType(flags.dtype));
  if (layer.kind != LayerKind::kGemm) BERTH_RETURN_IF_ERROR(ParseInput(flags, layer));
  if (layer.kind == LayerKind::kConv) BERTH_RETURN_IF_ERROR(ParseConvFilter(flags, layer));
  if (layer.kind == LayerKind::kDepthwise) {
    BERTH_RETURN_IF_ERROR(ParseDepthwiseFilter(flags, layer));
  }
  BERTH_RETURN_IF_ERROR(CheckLayer(layer));
  return layer;
}

struct Costs {
  int64_t array_cycles = 0, macs = 0;
  BundleContents plan;
  SimReport report;
};

absl::StatusOr<Costs> Measure(const Layer& layer, const NpuConfig& config, bool array_only) {
  Costs costs;
  const Command command = WholeLayerCommand(layer);
  costs.array_cycles = ComputeCycles(command, config);
  costs.macs = CommandMacs(command);
  if (array_only) return costs;
  if (HasNativeOrder(layer, config)) {
    BERTH_ASSIGN_OR_RETURN(costs.plan, NativeLayer(layer, config));
  } else {
    BERTH_ASSIGN_OR_RETURN(costs.plan, CompileLayer(layer, config));
  }
  BERTH_ASSIGN_OR_RETURN(costs.report, SimulateTiming(costs.plan.program.view(), config));
  return costs;
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const NpuConfig config, LoadTarget(flags.target));
  BERTH_ASSIGN_OR_RETURN(const Layer layer, ParseLayer(flags));
  Progress progress("planning the layer");
  absl::StatusOr<Costs> costs = Measure(layer, config, flags.array_only);
  progress.Stop();
  if (!costs.ok()) return costs.status();
  if (flags.json) {
    nlohmann::ordered_json json = {{"target", config.name},
                                   {"dtype", DTypeName(layer.dtype)},
                                   {"array_cycles", costs->array_cycles}};
    if (flags.array_only) {
      json["macs"] = costs->macs;
    } else {
      AddPlanJson(costs->plan, json);
      AddReportJson(costs->report, costs->plan, json);
    }
    PrintJson(json);
    return absl::OkStatus();
  }
  fmt::print("Array alone, data in the scratchpad: {} cycles for {} MACs of {}\n",
             costs->array_cycles, costs->macs, DTypeName(layer.dtype));
  if (!flags.array_only)
    fmt::print("From DRAM to DRAM:\n{}", ReportText(costs->report, costs->plan));
  return absl::OkStatus();
}

CLI::App* AddKind(CLI::App& layer, const char* name, const char* description, LayerKind kind,
                  CommandAction& action, const std::shared_ptr<Flags>& flags) {
  CLI::App* command = layer.add_subcommand(name, description);
  flags->layer.kind = kind;
  command->add_option("--dtype", flags->dtype, "int8, float16, bfloat16 or float32")
      ->capture_default_str();
  command->add_option("--target", flags->target, "Machine: a preset or a .json file")
      ->capture_default_str();
  command->add_flag("--array-only", flags->array_only, "Only array_cycles: plan no program");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
  return command;
}

void AddWindow(CLI::App& command, Flags& flags, const char* filter_help) {
  command.add_option("--input", flags.input, "HxWxC")->required();
  command.add_option("--filter", flags.filter, filter_help)->required();
  command.add_option("--stride", flags.layer.stride, "Along both axes")->capture_default_str();
  command.add_option("--pad", flags.layer.pad, "On all four sides")->capture_default_str();
}

}  // namespace

void AddLayerCommand(CLI::App& app, CommandAction& action) {
  CLI::App* layer =
      app.add_subcommand("layer", "Cycles of one layer: on the array alone, and from DRAM to DRAM");
  layer->require_subcommand(1);
  auto gemm = std::make_shared<Flags>();
  CLI::App* command =
      AddKind(*layer, "gemm", "Product of M x K by K x N", LayerKind::kGemm, action, gemm);
  command->add_option("--m", gemm->layer.m, "Rows")->required();
  command->add_option("--n", gemm->layer.n, "Columns")->required();
  command->add_option("--k", gemm->layer.k, "Length of the sums")->required();
  command->add_option("--batch", gemm->layer.batch, "Products, one after another")
      ->capture_default_str();

  auto conv = std::make_shared<Flags>();
  command = AddKind(*layer, "conv", "Convolution of one image", LayerKind::kConv, action, conv);
  AddWindow(*command, *conv, "RxSxCxK: K filters that see C channels each");
  command->add_option("--groups", conv->layer.groups, "Groups of channels")->capture_default_str();

  auto depthwise = std::make_shared<Flags>();
  command = AddKind(*layer, "depthwise", "Convolution of each channel by itself",
                    LayerKind::kDepthwise, action, depthwise);
  AddWindow(*command, *depthwise, "RxS, or RxSxCxM: M filters for each of C channels");
}

}  // namespace berth

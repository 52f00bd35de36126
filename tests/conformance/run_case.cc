#include "tests/conformance/run_case.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "berth/context.h"
#include "planner/compile.h"
#include "planner/lower_shape.h"
#include "planner/onnx/onnx_headers.h"
#include "planner/onnx/tensors.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// The ONNX backend suite's own tolerances.
constexpr double kRelativeTolerance = 1e-3;
constexpr double kAbsoluteTolerance = 1e-6;
// One unit in the last place: the data truncate to bfloat16 where the standard now rounds.
constexpr double kBFloat16Tolerance = 0x1p-7;

// Positions of the operands that carry a shape, axes or counts rather than data.
const std::map<std::string, std::set<int>>& ShapeOperands() {
  static const std::map<std::string, std::set<int>> kOperands = {
      {"Reshape", {1}},        {"Expand", {1}},      {"Tile", {1}},
      {"Slice", {1, 2, 3, 4}}, {"Pad", {1}},         {"Resize", {1, 2, 3}},
      {"Upsample", {1}},       {"Squeeze", {1}},     {"Unsqueeze", {1}},
      {"Split", {1}},          {"ReduceSum", {1}},   {"ConstantOfShape", {0}},
      {"TopK", {1}},           {"Dropout", {1, 2}},  {"CumSum", {1}},
      {"OneHot", {1}},         {"Range", {0, 1, 2}}, {"NonZero", {0}},
      {"Unique", {0}},         {"Compress", {1}},    {"NonMaxSuppression", {0, 1, 2, 3, 4}},
      {"MaxUnpool", {2}},      {"HannWindow", {0}},  {"HammingWindow", {0}},
      {"BlackmanWindow", {0}}, {"DFT", {1}},         {"STFT", {1, 3}}};
  return kOperands;
}

bool ReadProto(const fs::path& path, google::protobuf::Message& proto) {
  std::ifstream file(path, std::ios::binary);
  return file && proto.ParseFromIstream(&file);
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(const fs::path& set, const std::string& stem,
                                                int count) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < count; ++i) {
    onnx::TensorProto proto;
    if (!ReadProto(set / fmt::format("{}_{}.pb", stem, i), proto)) {
      return NotFound("no {} {} in {}", stem, i, set.filename().string());
    }
    BERTH_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto, set.string()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::set<std::string> ShapeInputs(const onnx::ModelProto& model) {
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) {
    const auto found = ShapeOperands().find(node.op_type());
    if (found == ShapeOperands().end()) continue;
    for (const int position : found->second) {
      if (position < node.input_size()) names.insert(node.input(position));
    }
  }
  return names;
}

// The data files hold bfloat16 as its bits.
Tensor FromBits(const Tensor& stored, DType dtype) {
  if (dtype != DType::kBFloat16 || stored.dtype() != DType::kUInt16) return stored;
  return Tensor::FromValues<uint16_t>(dtype, stored.shape(), stored.Values<uint16_t>());
}

// The first element out of tolerance, or nothing.
std::string FindMismatch(const Tensor& actual, const Tensor& expected) {
  if (actual.type() != expected.type()) {
    return fmt::format("{} where {} is expected", actual.type().ToString(),
                       expected.type().ToString());
  }
  std::string mismatch;
  const double relative =
      expected.dtype() == DType::kBFloat16 ? kBFloat16Tolerance : kRelativeTolerance;
  VisitDType(expected.dtype(), [&]<typename T>() {
    const auto as_double = [](T value) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        return static_cast<double>(static_cast<float>(value));
      } else {
        return static_cast<double>(value);
      }
    };
    const absl::Span<const T> a = actual.Values<T>(), e = expected.Values<T>();
    for (size_t i = 0; i < e.size() && mismatch.empty(); ++i) {
      const double x = as_double(a[i]), y = as_double(e[i]);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!(std::abs(x - y) <= kAbsoluteTolerance + relative * std::abs(y))) {
        mismatch = fmt::format("element {}: {} where {} is expected", i, x, y);
      }
    }
  });
  return mismatch;
}

// A model with what one data set gives it.
struct Prepared {
  std::shared_ptr<const Program> program;
  std::vector<Tensor> given;
};

// Operands that decide shapes are bound as constants: everything else runs on the machine.
absl::StatusOr<Prepared> PrepareStatic(const std::string& model_path, const onnx::ModelProto& model,
                                       const std::vector<std::string>& names,
                                       const absl::StatusOr<std::vector<Tensor>>& inputs) {
  CompileOptions options;
  options.dynamic = false;
  BERTH_ASSIGN_OR_RETURN(options.config, LoadTarget("edge"));
  const std::set<std::string> shape_inputs = ShapeInputs(model);
  Prepared prepared;
  for (size_t i = 0; inputs.ok() && i < names.size(); ++i) {
    if (shape_inputs.count(names[i]) != 0) {
      options.constant_inputs[names[i]] = (*inputs)[i];
    } else {
      options.input_shapes[names[i]] = (*inputs)[i].shape();
      prepared.given.push_back((*inputs)[i]);
    }
  }
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(model_path, options));
  BERTH_ASSIGN_OR_RETURN(prepared.program, Program::FromContents(std::move(contents)));
  return prepared;
}

// All operands are inputs, and what comes out is known when it runs.
absl::StatusOr<Prepared> PrepareDynamic(const std::string& model_path,
                                        const absl::StatusOr<std::vector<Tensor>>& inputs) {
  CompileOptions options;
  BERTH_ASSIGN_OR_RETURN(options.config, LoadTarget("edge"));
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(model_path, options));
  DynamicOptions dynamic;
  dynamic.lower = MakeFastLowering({});
  Prepared prepared;
  BERTH_ASSIGN_OR_RETURN(prepared.program,
                         Program::FromContents(std::move(contents), LoadLevel::kFull, dynamic));
  if (inputs.ok()) prepared.given = *inputs;
  return prepared;
}

absl::StatusOr<std::vector<Tensor>> Run(Prepared prepared) {
  ArenaPool pool;
  ContextOptions options;
  options.poison_before_run = true;
  BERTH_ASSIGN_OR_RETURN(const auto context, Context::Create(prepared.program, pool, options));
  std::vector<ConstTensorView> bound;
  for (size_t i = 0; i < prepared.given.size(); ++i) {
    Tensor& given = prepared.given[i];
    if (i < prepared.program->inputs().size()) {
      given = FromBits(given, prepared.program->inputs()[i].type.dtype);
    }
    bound.push_back(std::as_const(given).view());
  }
  std::vector<Tensor> outputs;
  BERTH_RETURN_IF_ERROR(context->Run(bound, outputs));
  return outputs;
}

absl::StatusOr<std::string> RunSet(const std::string& model_path, const onnx::ModelProto& model,
                                   const fs::path& set) {
  // Initializers may be listed as inputs too; the data sets leave them out.
  std::set<std::string> initializers;
  for (const auto& initializer : model.graph().initializer())
    initializers.insert(initializer.name());
  std::vector<std::string> names;
  for (const auto& input : model.graph().input()) {
    if (initializers.count(input.name()) == 0) names.push_back(input.name());
  }
  const absl::StatusOr<std::vector<Tensor>> inputs =
      ReadTensors(set, "input", static_cast<int>(names.size()));
  // A model that Berth refuses is refused here, before its data matter.
  absl::StatusOr<Prepared> prepared = PrepareStatic(model_path, model, names, inputs);
  if (absl::IsFailedPrecondition(prepared.status())) prepared = PrepareDynamic(model_path, inputs);
  if (!prepared.ok()) return prepared.status();
  if (!inputs.ok()) return inputs.status();
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Run(*std::move(prepared)));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                         ReadTensors(set, "output", static_cast<int>(outputs.size())));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string mismatch =
        FindMismatch(outputs[i], FromBits(expected[i], outputs[i].dtype()));
    if (!mismatch.empty()) return fmt::format("output {}: {}", i, mismatch);
  }
  return std::string();
}

}  // namespace

CaseResult RunCase(const std::string& folder) {
  const std::string model_path = folder + "/model.onnx";
  onnx::ModelProto model;
  if (!ReadProto(model_path, model)) return {CaseOutcome::kRefused, "model.onnx does not parse"};
  for (int set = 0;; ++set) {
    const fs::path path = fs::path(folder) / fmt::format("test_data_set_{}", set);
    if (!fs::is_directory(path)) break;
    const absl::StatusOr<std::string> mismatch = RunSet(model_path, model, path);
    if (!mismatch.ok()) {
      // Without the machine's path, so that the reason can stand in a list.
      std::string reason(ToStd(mismatch.status().message()));
      const std::string where = fmt::format("model '{}': ", model_path);
      if (reason.rfind(where, 0) == 0) reason.erase(0, where.size());
      return {CaseOutcome::kRefused, std::move(reason)};
    }
    if (!mismatch->empty()) return {CaseOutcome::kWrong, *mismatch};
  }
  return {};
}

}  // namespace berth

#include "tools/half_error.h"

#include <algorithm>

#include "berth/context.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

constexpr int kThreads = 2;

absl::StatusOr<std::vector<Tensor>> RunOn(const std::shared_ptr<const Program>& program,
                                          const std::vector<Tensor>& inputs) {
  ArenaPool pool;
  ContextOptions options;
  options.threads = kThreads;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, options));
  std::vector<Tensor> outputs = MakeOutputs(program->outputs());
  BERTH_RETURN_IF_ERROR(context->Run(Views(inputs), MutableViews(outputs)));
  return outputs;
}

// The first position of the largest value; of numbers only.
int64_t TopPosition(const Tensor& tensor) {
  const auto values = ToFloatValues(tensor.view());
  if (!values.ok() || values->empty()) return -1;
  return std::max_element(values->begin(), values->end()) - values->begin();
}

}  // namespace

absl::StatusOr<HalfError> MeasureHalfError(const std::string& model_path,
                                           const std::string& bundle_path, CompileOptions options,
                                           uint64_t seed) {
  const Stopwatch watch;
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> half,
                         Program::Load(bundle_path, LoadLevel::kTrusted));
  options.float_storage = DType::kFloat32;
  options.dump = nullptr;
  // The budget is for the plan at half size.
  options.pool_budget_bytes = 0;
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(model_path, options));
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> whole,
                         Program::FromContents(std::move(contents), LoadLevel::kTrusted));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(half->inputs(), {}, seed));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, RunOn(half, inputs));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, RunOn(whole, inputs));
  HalfError error;
  for (size_t i = 0; i < expected.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const Difference difference,
                           Compare(actual[i].view(), expected[i].view()));
    error.outputs.push_back(half->outputs()[i].name);
    error.differences.push_back(difference);
    error.same_top.push_back(TopPosition(actual[i]) == TopPosition(expected[i]));
  }
  error.milliseconds = watch.Milliseconds();
  return error;
}

std::string HalfErrorText(const HalfError& error) {
  std::string text =
      fmt::format("  error against float32 on random inputs ({:.0f} ms):\n", error.milliseconds);
  for (size_t i = 0; i < error.outputs.size(); ++i) {
    text += fmt::format("    output {} '{}': max abs {:.3g}, {:.3g} of max |float32|, {}\n", i,
                        error.outputs[i], error.differences[i].max_abs_error,
                        error.differences[i].max_rel_error,
                        error.same_top[i] ? "same top value" : "another top value");
  }
  return text;
}

void AddHalfErrorJson(const HalfError& error, nlohmann::ordered_json& json) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  double max_abs_error = 0, max_rel_error = 0;
  for (size_t i = 0; i < error.outputs.size(); ++i) {
    const Difference& difference = error.differences[i];
    outputs.push_back({{"name", error.outputs[i]},
                       {"max_abs_error", difference.max_abs_error},
                       {"max_rel_error", difference.max_rel_error},
                       {"same_top_value", static_cast<bool>(error.same_top[i])}});
    max_abs_error = std::max(max_abs_error, difference.max_abs_error);
    max_rel_error = std::max(max_rel_error, difference.max_rel_error);
  }
  json["outputs"] = std::move(outputs);
  json["max_abs_error"] = max_abs_error;
  json["max_rel_error"] = max_rel_error;
  json["error_ms"] = error.milliseconds;
}

}  // namespace berth

#include <algorithm>
#include <exception>
#include <new>
#include <unordered_map>

#include "planner/onnx/checks.h"
#include "planner/onnx/onnx_headers.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// The newest versions that the packaged checker (1.12) knows.
constexpr int kNewestCheckedOpset = 17;
constexpr int kNewestCheckedIr = 8;
// From this version on an initializer need not be an input as well; older files that break the
// rule are common and harmless.
constexpr int kFreeInitializersIr = 4;

bool WithinChecker(const OpsetVersions& opsets) {
  const auto found = opsets.find("");
  return found == opsets.end() || found->second <= kNewestCheckedOpset;
}

// How many inputs an operator may have since the library's newest version.
int MostInputs(const onnx::NodeProto& node, const onnx::OpSchema& schema) {
  if (node.op_type() == "Pad") return 4;               // axes, since 18
  if (node.op_type().starts_with("Reduce")) return 2;  // axes, since 18
  return schema.max_input();
}

// The part of the checker's work that later models need: an input too many would be taken for one
// of the rewrites' own.
absl::Status CheckInputCounts(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
    if (schema == nullptr || node.input_size() <= MostInputs(node, *schema)) continue;
    return InvalidArgument("{} '{}': {} inputs, the operator has at most {}",
                           OneLine(node.op_type(), 60), OneLine(node.name(), 100),
                           node.input_size(), MostInputs(node, *schema));
  }
  return absl::OkStatus();
}

// Fills in what the checker insists on, and takes it out again.
class Toleration {
 public:
  explicit Toleration(onnx::GraphProto& graph) : graph_(graph), unnamed_(graph.name().empty()) {
    if (unnamed_) graph.set_name("graph");
    for (auto& output : *graph.mutable_output()) {
      if (!output.type().has_tensor_type() || output.type().tensor_type().has_shape()) continue;
      output.mutable_type()->mutable_tensor_type()->mutable_shape();
      shapeless_.push_back(&output);
    }
  }
  ~Toleration() {
    if (unnamed_) graph_.clear_name();
    for (auto* output : shapeless_) output->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  Toleration(const Toleration&) = delete;
  Toleration& operator=(const Toleration&) = delete;

 private:
  onnx::GraphProto& graph_;
  bool unnamed_;
  std::vector<onnx::ValueInfoProto*> shapeless_;
};

}  // namespace

absl::Status RunOnnxChecker(onnx::ModelProto& model, const OpsetVersions& opsets,
                            const std::filesystem::path& model_folder) {
  if (!WithinChecker(opsets)) return CheckInputCounts(model.graph());
  onnx::checker::CheckerContext context;
  const auto ir = std::clamp<int64_t>(model.ir_version(), kFreeInitializersIr, kNewestCheckedIr);
  context.set_ir_version(static_cast<int>(ir));
  context.set_opset_imports(std::unordered_map<std::string, int>(opsets.begin(), opsets.end()));
  context.set_model_dir(model_folder.string());
  const Toleration toleration(*model.mutable_graph());
  try {
    onnx::checker::check_graph(model.graph(), context, onnx::checker::LexicalScopeContext());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // the library reports by throwing
    return InvalidArgument("onnx checker: {}", OneLine(error.what()));
  }
  return absl::OkStatus();
}

}  // namespace berth

// Dynamic shapes: models whose shapes hang on the sizes and values of their inputs, run with
// whatever the fuzzer says these are, several times in one context. A run ends well or with an
// error that blames the input.
#include <cstdlib>
#include <cstring>

#include "kernels/fold/fold_constants.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/run_program.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

constexpr int64_t kMostElements = 4096;  // of an input
// What a value is asked to be may fill the machine; a small one keeps the fuzzer quick.
constexpr int64_t kDramBytes = 16 << 20;

ModelBuilder OneOp(const std::string& op, int lists, bool is_first_float = true) {
  ModelBuilder b;
  std::vector<std::string> names;
  if (is_first_float) {
    b.Input("x", {-1, -1, -1});
    names.push_back("x");
  }
  for (int i = 0; i < lists; ++i) {
    names.push_back("list" + std::to_string(i));
    b.Input(names.back(), {-1}, onnx::TensorProto::INT64);
  }
  b.Output("y", {});
  b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  b.Node(op, names, {"y"});
  return b;
}

std::vector<ModelBuilder> Models() {
  std::vector<ModelBuilder> models = {DynamicNetwork(true),
                                      OneOp("Reshape", 1),
                                      OneOp("Expand", 1),
                                      OneOp("Tile", 1),
                                      OneOp("Slice", 4),
                                      OneOp("Pad", 1),
                                      OneOp("Gather", 1),
                                      OneOp("Unsqueeze", 1),
                                      OneOp("Squeeze", 1),
                                      OneOp("NonZero", 0),
                                      OneOp("ConstantOfShape", 1, false)};
  ModelBuilder top = OneOp("TopK", 1);
  top.graph().mutable_node(0)->add_output("places");
  models.push_back(top);
  ModelBuilder split = OneOp("Split", 1);
  split.graph().mutable_node(0)->add_output("second");
  models.push_back(split);
  return models;
}

struct Target {
  ModelBuilder model;
  std::shared_ptr<const Program> program;
};

std::vector<Target> Targets() {
  DynamicOptions options = TestDynamicOptions();
  options.pool_limit_bytes = kFuzzMostBytes;
  options.cache_bytes = 4 << 20;
  std::vector<Target> targets;
  for (const ModelBuilder& model : Models()) {
    const ScratchFolder folder;
    CompileOptions compile = DynamicCompileOptions();
    compile.config.dram.size_bytes = kDramBytes;
    auto contents = CompileModel(folder.Write("m.onnx", model.model), compile);
    if (!contents.ok()) std::abort();
    auto program = Program::FromContents(*std::move(contents), LoadLevel::kFull, options);
    if (!program.ok()) std::abort();
    targets.push_back({model, *std::move(program)});
  }
  return targets;
}

int64_t TakeNumber(ByteSource& bytes) {
  const auto kind = bytes.Take<int8_t>();
  return kind == INT8_MAX ? bytes.Take<int64_t>() : kind;
}

std::optional<Tensor> TakeTensor(const TensorInfo& info, ByteSource& bytes) {
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const bool is_fixed = info.dims[i].extent >= 0 && bytes.Take<uint8_t>() % 16 != 0;
    extents.push_back(is_fixed ? info.dims[i].extent : bytes.Take<uint8_t>() % 12);
    count *= extents.back();
  }
  if (count > kMostElements) return std::nullopt;
  Tensor tensor(TensorType{info.type.dtype, Shape(std::move(extents))});
  if (info.type.dtype == DType::kInt64) {
    for (int64_t& value : tensor.Values<int64_t>()) value = TakeNumber(bytes);
  } else {
    for (float& value : tensor.Values<float>()) value = bytes.Take<int8_t>();
  }
  return tensor;
}

void Try(const Target& target, ByteSource& bytes) {
  ArenaPool pool;
  const auto context = ContextOf(target.program, pool);
  for (int run = 0; run < 3 && !bytes.empty(); ++run) {
    std::vector<Tensor> inputs, outputs;
    std::vector<ConstTensorView> views;
    for (const TensorInfo& info : target.program->inputs()) {
      std::optional<Tensor> input = TakeTensor(info, bytes);
      if (!input) return;
      inputs.push_back(*std::move(input));
    }
    for (const Tensor& input : inputs) views.push_back(input.view());
    const absl::Status status = context->Run(views, outputs, FuzzRunOptions());
    if (status.code() == absl::StatusCode::kInternal) std::abort();
  }
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<berth::Target> targets = berth::Targets();
  berth::ByteSource bytes(data, size);
  const auto which = bytes.Take<uint8_t>();
  berth::Try(targets[which % targets.size()], bytes);
  return 0;
}

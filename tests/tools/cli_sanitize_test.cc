// `berth run --sanitize` on bundles that are whole and on one that is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bundle/bundle.h"
#include "tests/planner/model_builder.h"
#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

BundleContents WithoutWaitsOfTheMatrixUnit(const std::string& path) {
  const auto bundle = Bundle::Open(path, LoadLevel::kFull);
  EXPECT_TRUE(bundle.ok()) << bundle.status();
  BundleContents contents = (*bundle)->info();
  const ProgramView& program = (*bundle)->program();
  const auto copy = [](const auto& from, auto& to) { to.assign(from.begin(), from.end()); };
  copy(program.commands, contents.program.commands);
  copy(program.waits, contents.program.waits);
  copy(program.slots, contents.program.slots);
  copy((*bundle)->conflicts().predecessor_count, contents.conflicts.predecessor_count);
  copy((*bundle)->conflicts().successor_begin, contents.conflicts.successor_begin);
  copy((*bundle)->conflicts().successors, contents.conflicts.successors);
  copy((*bundle)->constants(), contents.constants);
  for (Command& command : contents.program.commands) {
    if (EngineOf(command.opcode) == EngineKind::kMatrix) command.wait_count = 0;
  }
  return contents;
}

class CliSanitize : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  void ExpectClean(const std::string& model, const std::vector<std::string>& inputs = {}) {
    const std::string bundle = Path("model.berth");
    const CliResult compiled = RunBerth({"compile", model, "-o", bundle, "--target", "edge"});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    std::vector<std::string> arguments = {"run", bundle, "--sanitize", "--json"};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    const CliResult result = RunBerth(arguments);
    ASSERT_EQ(result.exit_code, 0) << model << ": " << result.err;
    const nlohmann::json json = result.Json()["sanitizer"];
    EXPECT_EQ(json["findings"], 0);
    EXPECT_GT(json["commands"].get<int64_t>(), 0);
    EXPECT_GT(json["read_bytes"].get<int64_t>(), 0);
  }

  ScratchFolder folder_;
};

TEST_F(CliSanitize, FindsNothingInWholeBundles) {
  ExpectClean(WriteSmallModel(folder_.path().string()));
  ModelBuilder builder(13, "free");
  builder.Input("x", {-1, 4});
  builder.Node("Exp", {"x"}, {"r"}, "exp");
  builder.Node("Neg", {"r"}, {"y"}, "neg");
  builder.Output("y", {-1, 4});
  ExpectClean(folder_.Write("free.onnx", builder.model), {"--input", "x=3x4"});
}

TEST_F(CliSanitize, FindsNothingInModelsOfTheCorpus) {
  const std::filesystem::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus";
  for (const char* model : {"vision/mnist_cntk.onnx", "tflite/mlperf_kws_int8.tflite",
                            "quant/mobilenet_edgetpu_part_qdq.onnx"}) {
    ExpectClean((shared / "corpus/models" / model).string());
  }
}

TEST_F(CliSanitize, NamesWhatATrustedBundleDoesWrong) {
  const std::string whole = Path("whole.berth"), bundle = Path("broken.berth");
  const std::string model = WriteSmallModel(folder_.path().string());
  ASSERT_EQ(RunBerth({"compile", model, "-o", whole, "--target", "edge"}).exit_code, 0);
  ASSERT_TRUE(WriteBundle(bundle, WithoutWaitsOfTheMatrixUnit(whole)).ok());
  EXPECT_EQ(RunBerth({"run", bundle}).exit_code, 1);  // the proof
  const CliResult result = RunBerth({"run", bundle, "--trusted", "--sanitize"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("sanitizer: "), HasSubstr("race: command"),
                                HasSubstr("matrix conv"), HasSubstr("not ordered with command")));
}

TEST_F(CliSanitize, CyclesAloneTouchNothing) {
  const CliResult result = RunBerth({"run", "x.berth", "--sanitize", "--mode", "cycles"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.HasOneLineError()) << result.err;
}

}  // namespace
}  // namespace berth

// A model with free dimensions on the command line: one bundle, a shape for every run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// y = r - the mean of r along the last axis, r = Exp(x) of x [d0, 4, d2].
class CliDynamic : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder builder(13, "free");
    builder.Input("x", {-1, 4, -1});
    builder.Node("Exp", {"x"}, {"r"}, "exp");
    builder.Node("ReduceMean", {"r"}, {"m"}, "mean");
    onnx::AttributeProto& axes = *builder.graph().mutable_node(1)->add_attribute();
    axes.set_name("axes");
    axes.set_type(onnx::AttributeProto::INTS);
    axes.add_ints(-1);
    builder.Node("Sub", {"r", "m"}, {"y"}, "sub");
    builder.Output("y", {-1, 4, -1});
    model_ = folder_.Write("free.onnx", builder.model);
    bundle_ = Path("free.berth");
    const CliResult result = RunBerth({"compile", model_, "-o", bundle_, "--target", "edge"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("planned for each shape as it comes"));
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // What a run says that is refused.
  std::string Refusal(const std::vector<std::string>& arguments) {
    const CliResult result = RunBerth(arguments);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
    return result.err;
  }

  ScratchFolder folder_;
  std::string model_, bundle_;
};

TEST_F(CliDynamic, EveryRunHasItsShape) {
  const CliResult result = RunBerth({"run", bundle_, "--input", "x=2x4x8", "--input", "x=1x4x3",
                                     "--input", "x=2x4x8", "--output-dir", Path("out"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = result.Json();
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["each_run_ms"].size(), 3u);
  EXPECT_EQ(json["specializations"], 2);
  EXPECT_EQ(json["reused_specializations"], 1);
  EXPECT_GT(json["makespan_cycles"].get<int64_t>(), 0);
  const auto size = [&](const char* file) { return std::filesystem::file_size(Path(file)); };
  EXPECT_EQ(size("out/run_0/output_0.npy"), 128 + 2 * 4 * 8 * sizeof(float));
  EXPECT_EQ(size("out/run_1/output_0.npy"), 128 + 1 * 4 * 3 * sizeof(float));
}

// The same values as the static bundle of that shape gives.
TEST_F(CliDynamic, EqualsTheStaticBundle) {
  const std::string fixed = Path("fixed.berth");
  ASSERT_EQ(RunBerth({"compile", model_, "--shape", "x=3x4x5", "-o", fixed, "--target", "edge"})
                .exit_code,
            0);
  ASSERT_EQ(RunBerth({"run", fixed, "--output-dir", Path("a")}).exit_code, 0);
  ASSERT_EQ(RunBerth({"run", bundle_, "--input", "x=3x4x5", "--output-dir", Path("b")}).exit_code,
            0);
  EXPECT_EQ(ReadBytes(Path("a/output_0.npy")), ReadBytes(Path("b/output_0.npy")));
}

TEST_F(CliDynamic, HotShapesArePlanned) {
  const CliResult result = RunBerth({"run", bundle_, "--input", "x=2x4x8", "--repeat", "3",
                                     "--plan-after", "2", "--wait-for-plans", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["planned_specializations"], 1);
}

TEST_F(CliDynamic, RefusalsSayWhat) {
  EXPECT_THAT(Refusal({"run", bundle_}), HasSubstr("its shape is free"));
  EXPECT_THAT(Refusal({"run", bundle_, "--input", "x=2x4x0"}), HasSubstr("at least 1"));
  EXPECT_THAT(Refusal({"run", bundle_, "--input", "x=2x5x8"}), HasSubstr("dimension 1"));
  EXPECT_THAT(Refusal({"run", bundle_, "--input", "x=2x4"}), HasSubstr("rank"));
  EXPECT_THAT(Refusal({"run", bundle_, "--input", "x=2x4x4096", "--pool-limit", "65536"}),
              HasSubstr("limit 65536"));
  EXPECT_THAT(Refusal({"inspect", bundle_, "--timeline"}), HasSubstr("--shape"));
}

}  // namespace
}  // namespace berth

// Ranges and output formulas on the command line: compile and inspect say the same of them.
#include <gtest/gtest.h>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

class CliRangeTest : public ::testing::Test {
 protected:
  CliRangeTest() {
    ModelBuilder b;
    b.Input("x", {-1, 1, -1, 8});
    b.Output("y", {-1, 2, -1, -1});
    b.Floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.1f));
    SetInts(b.Node("Conv", {"x", "w"}, {"y"}), "strides", {2, 2});
    model_ = folder_.Write("m.onnx", b.model);
    bundle_ = (folder_.path() / "m.berth").string();
  }

  CliResult Compile(const std::vector<std::string>& ranges,
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"compile", model_, "-o", bundle_};
    for (const std::string& range : ranges) {
      arguments.insert(arguments.end(), {"--range", range});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunBerth(arguments);
  }

  ScratchFolder folder_;
  std::string model_, bundle_;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CliRangeTest, CompileAndInspectSayTheSame) {
  const CliResult compiled = Compile({"d0=1:4", "d2=3:32"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const CliResult inspected = RunBerth({"inspect", bundle_});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  for (const std::string& out : {compiled.out, inspected.out}) {
    EXPECT_TRUE(Has(out, "range  'd0' 1 to 4")) << out;
    EXPECT_TRUE(Has(out, "range  'd2' 3 to 32")) << out;
    EXPECT_TRUE(Has(out, "largest shape: pool ")) << out;
    EXPECT_TRUE(Has(out, "float32[d0x2xfloor((d2-1)/2)x3]")) << out;
  }
  const nlohmann::json compile_json = Compile({"d0=1:4", "d2=3:32"}, {"--json"}).Json();
  const nlohmann::json inspect_json = RunBerth({"inspect", bundle_, "--json"}).Json();
  const auto ranges = nlohmann::json::parse(R"({"d0": [1, 4], "d2": [3, 32]})");
  const auto shape = nlohmann::json::parse(R"json(["d0", 2, "floor((d2-1)/2)", 3])json");
  EXPECT_EQ(compile_json["ranges"], ranges);
  EXPECT_GT(compile_json["largest_shape"]["makespan_cycles"], 0);
  EXPECT_EQ(inspect_json["ranges"], ranges);
  EXPECT_EQ(compile_json["largest_shape"], inspect_json["largest_shape"]);
  EXPECT_EQ(inspect_json["outputs"][0]["shape"], shape);
}

TEST_F(CliRangeTest, WithoutAllRangesNoShapeIsLargest) {
  const CliResult compiled = Compile({"d0=1:4"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_FALSE(Has(compiled.out, "largest shape")) << compiled.out;
}

TEST_F(CliRangeTest, WrongRangesAreRefused) {
  const auto fails_with = [&](const std::string& range, const std::string& part) {
    const CliResult result = Compile({range});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.HasOneLineError() && Has(result.err, part)) << result.err;
  };
  fails_with("d0", "expected name=value");
  fails_with("d0=1", "expected two sizes");
  fails_with("d0=1:x", "expected two sizes");
  fails_with("d0=1:99999999999999999999", "expected two sizes");
  fails_with("d0=0:4", "0 to 4");
  fails_with("d0=5:4", "5 to 4");
  fails_with("batch=1:4", "there are d0, d2");
}

}  // namespace
}  // namespace berth

// The machine is not faked, seen from the command line: buffers, threads, engines.
#include <gtest/gtest.h>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

// A small MobileNetV2 for all tests of the suite.
class CliMachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CliResult demo = RunBerth({"demo", "--output-dir", folder_.path(), "--resolution", "96",
                                     "--width", "0.5", "--target", "edge", "--json"});
    ASSERT_EQ(demo.exit_code, 0) << demo.err;
    report_ = demo.Json();
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  Json Run(const std::string& bundle, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", bundle, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.Json();
  }

  ScratchFolder folder_;
  Json report_;
};

TEST_F(CliMachineTest, TheHostComputesNothingOfAVisionModel) {
  EXPECT_EQ(report_["engines"]["host"]["busy_cycles"], 0);
  EXPECT_EQ(report_["engines"]["host"]["command_count"], 0);
  EXPECT_GT(report_["engines"]["matrix"]["busy_cycles"], 0);
  EXPECT_GE(report_["dram_read_bytes"].get<int64_t>() + report_["dram_write_bytes"].get<int64_t>(),
            report_["dram_bytes_lower_bound"].get<int64_t>());
  EXPECT_LE(report_["scratchpad_peak_bytes"], 384 * 1024);
}

TEST_F(CliMachineTest, ValuesAndCyclesDoNotDependOnThreads) {
  const std::string bundle = Path("mobilenet_v2.berth");
  std::string expected;
  Json cycles;
  for (const char* threads : {"1", "2", "8", "16"}) {
    Json json = Run(bundle, {"--threads", threads, "--output-dir", Path(threads)});
    const std::string bytes = ReadBytes(Path(threads) + "/output_0.npy");
    ASSERT_FALSE(bytes.empty());
    for (const char* host_time : {"run_ms", "each_run_ms", "compile_ms", "load_ms"}) json.erase(host_time);
    if (expected.empty()) {
      expected = bytes;
      cycles = json;
    }
    EXPECT_EQ(bytes, expected) << threads;
    EXPECT_EQ(json, cycles) << threads;
  }
}

TEST_F(CliMachineTest, WithoutDoubleBuffersTheSameTilesTakeLonger) {
  const std::string model = Path("mobilenet_v2.onnx");
  std::string tiles[2];
  int64_t makespan[2] = {};
  for (const int single : {0, 1}) {
    std::vector<std::string> arguments = {"compile",  model,  "-o",     Path("x.berth"),
                                          "--target", "edge", "--dump", "tiles"};
    if (single == 1) arguments.push_back("--no-double-buffer");
    const CliResult compiled = RunBerth(arguments);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    tiles[single] = compiled.out.substr(0, compiled.out.find("Plan of"));
    const Json json = Run(Path("x.berth"), {"--output-dir", Path("o" + std::to_string(single))});
    makespan[single] = json["makespan_cycles"];
  }
  EXPECT_GT(tiles[0].size(), 100u);
  EXPECT_EQ(tiles[0], tiles[1]);
  EXPECT_LT(makespan[0], makespan[1]);
  EXPECT_EQ(ReadBytes(Path("o0/output_0.npy")), ReadBytes(Path("o1/output_0.npy")));
}

TEST_F(CliMachineTest, PlansAreReproducible) {
  for (const char* name : {"a.berth", "b.berth"}) {
    const CliResult result =
        RunBerth({"compile", Path("mobilenet_v2.onnx"), "-o", Path(name), "--dump", "program"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    folder_.Write(std::string(name) + ".txt", result.out.substr(0, result.out.find("Plan of")));
  }
  EXPECT_EQ(ReadBytes(Path("a.berth.txt")), ReadBytes(Path("b.berth.txt")));
}

}  // namespace
}  // namespace berth

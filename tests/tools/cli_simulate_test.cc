// berth simulate, and the way from a bundle to its program as text and back.
#include <gtest/gtest.h>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

const std::string kExample = BERTH_SOURCE_FOLDER "/examples/gemm.txt";

class CliSimulate : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  static Json Ok(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.Json();
  }
  // The example with one part replaced.
  std::string Changed(const std::string& part, const std::string& by) {
    std::string text = ReadBytes(kExample);
    const size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) text.replace(at, part.size(), by);
    return folder_.Write("changed.txt", text);
  }
  static void ExpectFailure(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& parts) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
    }
  }

  ScratchFolder folder_;
};

TEST_F(CliSimulate, TheExample) {
  const Json json = Ok({"simulate", kExample, "--target", "edge", "--trace", Path("trace.json")});
  EXPECT_EQ(json["verified"], true);
  EXPECT_EQ(json["target"], "edge");
  EXPECT_EQ(json["macs"], 16 * 16 * 64);
  EXPECT_EQ(json["dram_read_bytes"], 8192);
  EXPECT_EQ(json["dram_write_bytes"], 1024);
  EXPECT_EQ(json["scratchpad_peak_bytes"], 9216);
  EXPECT_GE(json["makespan_cycles"], json["cycles_lower_bound"]);
  EXPECT_GT(json["cycles_lower_bound"], 0);
  EXPECT_EQ(json["engines"]["dma0"]["command_count"], 2);
  const Json trace = Json::parse(ReadBytes(Path("trace.json")), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  EXPECT_GT(trace["traceEvents"].size(), 4u);
  const CliResult text = RunBerth({"simulate", kExample, "--target", "edge"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"proved safe on 'edge': 4 commands", "makespan", "matrix   busy"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
}

TEST_F(CliSimulate, ABundlesProgramTakesAsLong) {
  const std::string bundle = Path("small.berth");
  Ok({"compile", WriteSmallModel(folder_.path()), "-o", bundle, "--target", "edge"});
  const Json inspected = Ok({"inspect", bundle, "--program", Path("small.txt")});
  EXPECT_EQ(inspected["program"]["file"], Path("small.txt"));
  EXPECT_EQ(inspected["program"]["file_bytes"], ReadBytes(Path("small.txt")).size());
  EXPECT_NE(ReadBytes(Path("small.txt")).find("# op=0 '"), std::string::npos);
  const Json run = Ok({"run", bundle, "--mode", "cycles"});
  const Json simulated = Ok({"simulate", Path("small.txt"), "--target", "edge"});
  for (const char* key : {"makespan_cycles", "engines", "macs", "dram_read_bytes",
                          "dram_write_bytes", "energy_picojoules", "command_count"}) {
    EXPECT_EQ(simulated[key], run[key]) << key;
  }
}

TEST_F(CliSimulate, SaysWhatIsWrong) {
  ExpectFailure({"simulate", Path("none.txt")}, {"none.txt"});
  ExpectFailure({"simulate", kExample, "--target", "toaster"}, {"toaster"});
  ExpectFailure({"simulate", WriteSmallModel(folder_.path())}, {"small.onnx", "line 1, column 1"});
  ExpectFailure({"simulate", Changed("16x64 in0", "16x64 in9"), "--target", "edge"},
                {"changed.txt", "line 17, column 23: unknown field 'in9' of dma_load"});
  ExpectFailure({"simulate", Changed(" waits=@0,@1", " waits=@0"), "--target", "edge"},
                {"changed.txt", "command 2", "races with command 1"});
  ExpectFailure({"simulate", Changed("slot 2 scratchpad+8192", "slot 2 scratchpad+4096")},
                {"changed.txt", "command 2", "out overlaps in1"});
}

}  // namespace
}  // namespace berth

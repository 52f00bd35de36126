// States on the command line: --state binds them, run keeps them over a sequence of inputs, check
// and inspect know them.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

// total_next = total + x; square = total_next^2.
class CliState : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder builder(13, "sum");
    builder.Input("x", {1, 4});
    builder.Input("total", {1, 4});
    builder.Node("Add", {"total", "x"}, {"total_next"}, "add");
    builder.Node("Mul", {"total_next", "total_next"}, {"square"}, "square");
    builder.Output("total_next", {1, 4});
    builder.Output("square", {1, 4});
    model_ = folder_.Write("sum.onnx", builder.model);
    bundle_ = Path("sum.berth");
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  static std::string Npy(float value) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }";
    header.resize(117, ' ');
    std::string bytes = std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n";
    for (int i = 0; i < 4; ++i) bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return bytes;
  }
  std::string WriteNpy(const std::string& name, float value) const {
    return folder_.Write(name, Npy(value));
  }
  float Result(const std::string& name) const {
    const std::string bytes = ReadBytes(Path(name));
    float value = -1;
    if (bytes.size() >= 132) std::memcpy(&value, bytes.data() + 128, sizeof(value));
    return value;
  }
  Json Ok(const std::vector<std::string>& arguments) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.Json();
  }
  void Fails(const std::vector<std::string>& arguments, const std::string& what) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
    EXPECT_NE(result.err.find(what), std::string::npos) << result.err;
  }
  void Compile() {
    Ok({"compile", model_, "-o", bundle_, "--state", "total=total_next", "--json"});
  }
  std::vector<std::string> RunThree(const std::string& output) const {
    return {"run",       bundle_,
            "--input",   "x=" + WriteNpy("1.npy", 1),
            "--input",   "x=" + WriteNpy("2.npy", 2),
            "--input",   "x=" + WriteNpy("4.npy", 4),
            "--json",    "--output-dir",
            Path(output)};
  }

  ScratchFolder folder_;
  std::string model_, bundle_;
};

TEST_F(CliState, IsKeptOverASequenceOfInputs) {
  Compile();
  const Json json = Ok(RunThree("kept"));
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["state_count"], 1);
  EXPECT_EQ(Result("kept/run_0/output_0.npy"), 1);
  EXPECT_EQ(Result("kept/run_1/output_0.npy"), 9);
  EXPECT_EQ(Result("kept/run_2/output_0.npy"), 49);
  // Repetitions begin anew.
  std::vector<std::string> repeated = RunThree("repeated");
  repeated.insert(repeated.end(), {"--repeat", "3"});
  Ok(repeated);
  EXPECT_EQ(Result("repeated/run_2/output_0.npy"), 49);
  std::vector<std::string> reset = RunThree("reset");
  reset.push_back("--reset-state");
  Ok(reset);
  EXPECT_EQ(Result("reset/run_2/output_0.npy"), 16);
}

TEST_F(CliState, OneInputServesAllRuns) {
  Compile();
  Ok({"run", bundle_, "--input", "x=" + WriteNpy("3.npy", 3), "--runs", "4", "--output-dir",
      Path("out"), "--json"});
  EXPECT_EQ(Result("out/run_3/output_0.npy"), 144);
  Ok({"run", bundle_, "--input", "x=" + WriteNpy("3.npy", 3), "--output-dir", Path("one"),
      "--json"});
  EXPECT_EQ(Result("one/output_0.npy"), 9);
  Fails({"run", bundle_, "--input", "x=" + Path("3.npy"), "--input", "x=" + Path("3.npy"), "--runs",
         "3"},
        "2 files for 3 runs");
}

TEST_F(CliState, BeginsWithAFile) {
  Ok({"compile", model_, "-o", bundle_, "--state", "total=total_next", "--initial-state",
      "total=" + WriteNpy("10.npy", 10), "--json"});
  Ok(RunThree("out"));
  EXPECT_EQ(Result("out/run_2/output_0.npy"), 289);
  // check compares a first run.
  folder_.Write("input_0.npy", Npy(5));
  folder_.Write("output_0.npy", Npy(225));
  const Json check = Ok({"check", model_, "--refs", folder_.path(), "--state", "total=total_next",
                         "--initial-state", "total=" + Path("10.npy"), "--json"});
  EXPECT_EQ(check["passed"], true);
}

TEST_F(CliState, IsShownAndChecked) {
  Compile();
  const Json inspect = Ok({"inspect", bundle_, "--json"});
  ASSERT_EQ(inspect["inputs"].size(), 1u);
  EXPECT_EQ(inspect["inputs"][0]["name"], "x");
  ASSERT_EQ(inspect["outputs"].size(), 1u);
  EXPECT_EQ(inspect["outputs"][0]["name"], "square");
  ASSERT_EQ(inspect["states"].size(), 1u);
  EXPECT_EQ(inspect["states"][0]["name"], "total");
  EXPECT_EQ(inspect["memory"]["state_bytes"], 128);
  EXPECT_EQ(Ok({"check", model_, "--state", "total=total_next", "--json"})["passed"], true);
  EXPECT_EQ(Ok({"verify", bundle_, "--json"}).is_object(), true);
}

TEST_F(CliState, BindingsThatDoNotFitAreRefused) {
  const auto compile = [&](const std::string& state) {
    return std::vector<std::string>{"compile", model_, "-o", bundle_, "--state", state};
  };
  Fails(compile("total=sum"), "no output 'sum', only 'total_next' 'square'");
  Fails(compile("sum=total_next"), "no input 'sum', only 'x' 'total'");
  Fails(compile("total"), "expected name=value");
  std::vector<std::string> twice = compile("total=total_next");
  twice.insert(twice.end(), {"--state", "x=total_next"});
  Fails(twice, "belongs to another state");
  std::vector<std::string> absent = compile("total=total_next");
  absent.insert(absent.end(), {"--initial-state", "x=" + WriteNpy("1.npy", 1)});
  Fails(absent, "no --state of that input");
}

}  // namespace
}  // namespace berth

// Every subcommand on something small: exit status, files, keys of the JSON object.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

class CliTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  Json Ok(const std::vector<std::string>& arguments) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const Json json = result.Json();
    EXPECT_TRUE(json.is_object()) << result.out;
    return json;
  }
  // A text answer: not empty, nothing on stderr.
  std::string Text(const std::vector<std::string>& arguments) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_FALSE(result.out.empty());
    return result.out;
  }
  std::string Bundle() {
    const std::string bundle = Path("small.berth");
    Ok({"compile", WriteSmallModel(folder_.path()), "-o", bundle, "--target", "edge", "--json"});
    return bundle;
  }

  ScratchFolder folder_;
};

void ExpectKeys(const Json& json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(json.contains(key)) << key << " in " << json;
}

const std::vector<std::string> kPlanKeys = {
    "pool_bytes",         "pool_lower_bound_bytes", "pool_status", "scratchpad_peak_bytes",
    "cycles_lower_bound", "dram_bytes_lower_bound", "compile_ms"};

void ExpectReport(const Json& json) {
  ExpectKeys(json, {"makespan_cycles", "engines", "dram_read_bytes", "dram_write_bytes", "macs",
                    "matrix_utilization", "cycles_lower_bound", "dram_bytes_lower_bound"});
  const int64_t makespan = json["makespan_cycles"];
  EXPECT_GE(makespan, json["cycles_lower_bound"].get<int64_t>());
  for (const auto& [name, engine] : json["engines"].items()) {
    int64_t cycles = engine["busy_cycles"].get<int64_t>() + engine["idle_cycles"].get<int64_t>();
    ASSERT_TRUE(engine["stall"].is_object()) << engine;
    for (const auto& [cause, stall] : engine["stall"].items()) {
      EXPECT_EQ(cause.substr(cause.size() - 7), "_cycles") << cause;
      cycles += stall.get<int64_t>();
    }
    EXPECT_EQ(cycles, makespan) << name;
  }
}

TEST_F(CliTest, CompileWritesABundle) {
  const std::string bundle = Path("out.berth");
  const Json json =
      Ok({"compile", WriteSmallModel(folder_.path()), "-o", bundle, "--target", "edge", "--json"});
  ExpectKeys(json, kPlanKeys);
  EXPECT_TRUE(std::filesystem::exists(bundle));
  EXPECT_GE(json["pool_bytes"], json["pool_lower_bound_bytes"]);
}

TEST_F(CliTest, CompileStoresFloatsAtHalfSize) {
  const std::string model = WriteSmallModel(folder_.path());
  const Json whole = Ok({"compile", model, "-o", Path("whole.berth"), "--json"});
  EXPECT_FALSE(whole.contains("dtype"));
  for (const auto& [flag, name, tolerance] :
       {std::tuple("fp16", "float16", 2e-3), std::tuple("bf16", "bfloat16", 2e-2)}) {
    SCOPED_TRACE(flag);
    const Json json = Ok({"compile", model, "-o", Path("half.berth"), "--dtype", flag, "--json"});
    EXPECT_EQ(json["dtype"], name);
    EXPECT_EQ(json["narrowed_constants"], 2);
    EXPECT_EQ(json["kept_in_float32"], Json::array());
    EXPECT_LT(json["constants_bytes"], whole["constants_bytes"].get<int64_t>() * 0.6);
    ASSERT_EQ(json["outputs"].size(), 1u);
    EXPECT_EQ(json["outputs"][0]["name"], "scores");
    EXPECT_GT(json["outputs"][0]["max_rel_error"], 0);
    EXPECT_LT(json["outputs"][0]["max_rel_error"], tolerance);
    EXPECT_TRUE(json["outputs"][0]["same_top_value"].is_boolean());
    // Inputs and outputs are what they were.
    const Json bundle = Ok({"inspect", Path("half.berth"), "--json"});
    EXPECT_EQ(bundle["inputs"][0]["dtype"], "float32");
    EXPECT_EQ(bundle["outputs"][0]["dtype"], "float32");
    const Json check = Ok({"check", model, "--dtype", flag, "--json"});
    EXPECT_EQ(check["passed"], true);
    EXPECT_EQ(check["outputs"][0]["name"], "scores");
  }
  const std::string text = Text({"compile", model, "-o", Path("half.berth"), "--dtype", "fp16"});
  EXPECT_NE(text.find("output 0 'scores': max abs"), std::string::npos) << text;
  const Json quiet = Ok({"compile", model, "-o", Path("half.berth"), "--dtype", "fp16",
                         "--no-error-report", "--json"});
  EXPECT_FALSE(quiet.contains("outputs"));
  EXPECT_EQ(RunBerth({"compile", model, "-o", Path("x.berth"), "--dtype", "int8"}).exit_code, 2);
}

TEST_F(CliTest, CompileDumpsEveryStage) {
  const std::string model = WriteSmallModel(folder_.path());
  for (const char* stage : {"import", "graph", "order", "pool", "tiles", "program"}) {
    const std::string text = Text({"compile", model, "-o", Path("x.berth"), "--dump", stage});
    EXPECT_NE(text.find(std::string("--- ") + stage), std::string::npos) << text;
  }
}

TEST_F(CliTest, RunWritesOutputsAndReports) {
  const Json json = Ok({"run", Bundle(), "--output-dir", Path("out"), "--json"});
  ExpectReport(json);
  ExpectKeys(json, kPlanKeys);
  ExpectKeys(json, {"run_ms"});
  EXPECT_EQ(ReadBytes(Path("out/output_0.npy")).size(), 128u + 10 * 4);
  EXPECT_EQ(json["macs"], 8 * 8 * 8 * 27 + 512 * 10);
  EXPECT_EQ(json["engines"]["host"]["busy_cycles"], 0);
}

TEST_F(CliTest, ModesGiveValuesCyclesOrBoth) {
  const std::string bundle = Bundle();
  const Json values = Ok({"run", bundle, "--mode", "values", "--output-dir", Path("v"), "--json"});
  EXPECT_FALSE(values.contains("makespan_cycles"));
  const Json cycles = Ok({"run", bundle, "--mode", "cycles", "--output-dir", Path("c"), "--json"});
  ExpectReport(cycles);
  EXPECT_FALSE(std::filesystem::exists(Path("c")));
  const Json both = Ok({"run", bundle, "--repeat", "3", "--output-dir", Path("b"), "--json"});
  EXPECT_EQ(both["makespan_cycles"], cycles["makespan_cycles"]);
  EXPECT_EQ(ReadBytes(Path("v/output_0.npy")), ReadBytes(Path("b/output_0.npy")));
}

TEST_F(CliTest, InputsByNameAndByPosition) {
  const std::string bundle = Bundle();
  std::ofstream file(Path("in.npy"), std::ios::binary);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 16, 16), }";
  header.resize(117, ' ');
  file << "\x93NUMPY" << '\1' << '\0' << '\x76' << '\0' << header << '\n';
  for (int i = 0; i < 3 * 16 * 16; ++i) {
    const float value = static_cast<float>(i % 7);
    file.write(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  file.close();
  Ok({"run", bundle, "--input", "image=" + Path("in.npy"), "--output-dir", Path("a"), "--json"});
  Ok({"run", bundle, "--input", "0=" + Path("in.npy"), "--output-dir", Path("b"), "--json"});
  Ok({"run", bundle, "--output-dir", Path("c"), "--json"});
  EXPECT_EQ(ReadBytes(Path("a/output_0.npy")), ReadBytes(Path("b/output_0.npy")));
  EXPECT_NE(ReadBytes(Path("a/output_0.npy")), ReadBytes(Path("c/output_0.npy")));
}

TEST_F(CliTest, CheckComparesWithTheReference) {
  const std::string model = WriteSmallModel(folder_.path());
  for (const char* target : {"edge", "mobile", "server"}) {
    const Json json = Ok({"check", model, "--target", target, "--json"});
    ExpectKeys(json, {"max_abs_error", "max_rel_error", "passed"});
    ExpectKeys(json, kPlanKeys);
    ExpectReport(json);
    EXPECT_EQ(json["passed"], true);
    EXPECT_LT(json["max_rel_error"], 1e-4);
  }
}

// Expected outputs that are wrong: exit 1, and the search finds no node to blame.
TEST_F(CliTest, CheckFailsOnOtherOutputs) {
  const std::string bundle = Bundle();
  Ok({"run", bundle, "--output-dir", Path("refs"), "--seed", "1", "--json"});
  std::filesystem::copy_file(Path("refs/output_0.npy"), Path("refs/input_0.npy"));
  const CliResult mismatch = RunBerth({"check", Path("small.onnx"), "--refs", Path("refs")});
  EXPECT_EQ(mismatch.exit_code, 1);  // the input has the wrong shape
  EXPECT_TRUE(mismatch.HasOneLineError()) << mismatch.err;

  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 16, 16), }";
  header.resize(117, ' ');
  std::ofstream(Path("refs/input_0.npy"), std::ios::binary)
      << "\x93NUMPY" << '\1' << '\0' << '\x76' << '\0' << header << '\n'
      << std::string(3 * 16 * 16 * 4, '\0');
  const CliResult wrong = RunBerth({"check", Path("small.onnx"), "--refs", Path("refs"), "--json"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(wrong.HasOneLineError()) << wrong.err;
  EXPECT_EQ(wrong.Json()["passed"], false);
  EXPECT_NE(wrong.err.find("none of its"), std::string::npos) << wrong.err;
}

// A tolerance that nothing meets: the first node is named.
TEST_F(CliTest, CheckNamesTheFirstNodeThatDiffers) {
  const CliResult result = RunBerth({"check", WriteSmallModel(folder_.path()), "--tolerance", "-1",
                                     "--absolute-tolerance", "-1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.HasOneLineError()) << result.err;
  EXPECT_NE(result.err.find("Conv 'conv'"), std::string::npos) << result.err;
}

TEST_F(CliTest, InspectTellsWhatABundleHolds) {
  const std::string bundle = Bundle();
  const Json json = Ok({"inspect", bundle, "--json"});
  ExpectKeys(json, {"sections", "memory", "plans", "ops", "engines", "inputs", "outputs"});
  ExpectKeys(json, kPlanKeys);
  EXPECT_EQ(json["sections"].size(), 8u);
  EXPECT_EQ(json["file_bytes"], std::filesystem::file_size(bundle));
  EXPECT_EQ(json["inputs"][0]["name"], "image");
  EXPECT_EQ(json["plans"].size(), 3u);
  for (const Json& plan : json["plans"]) {
    EXPECT_GE(plan["height_bytes"], plan["lower_bound_bytes"]) << plan;
  }
  for (const Json& op : json["ops"]) ExpectKeys(op, {"name", "kind", "decision", "macs"});
  const std::string text = Text({"inspect", bundle});
  EXPECT_NE(text.find("scratchpad"), std::string::npos);
  EXPECT_NE(text.find("tile"), std::string::npos) << text;
}

TEST_F(CliTest, VerifySaysWhatWasProved) {
  const std::string bundle = Bundle();
  const Json json = Ok({"verify", bundle, "--json"});
  EXPECT_EQ(json["verified"], true);
  for (const char* count : {"sections", "commands", "accesses", "buffers", "conflicts"}) {
    EXPECT_GT(json[count], 0) << count;
  }
  EXPECT_NE(Text({"verify", bundle}).find("proved safe"), std::string::npos);
}

TEST_F(CliTest, VerifyRefusesAnyDamage) {
  const std::string bundle = Bundle();
  const std::string bytes = ReadBytes(bundle);
  const Json sections = Ok({"inspect", bundle, "--json"})["sections"];
  for (const Json& section : sections) {
    if (section["size_bytes"] == 0) continue;
    const size_t at =
        section["offset_bytes"].get<size_t>() + section["size_bytes"].get<size_t>() / 2;
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const CliResult result = RunBerth({"verify", folder_.Write("damaged.berth", damaged)});
    EXPECT_EQ(result.exit_code, 1) << section;
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
  }
}

TEST_F(CliTest, Targets) {
  const Json all = Ok({"targets", "--json"});
  EXPECT_GE(all["targets"].size(), 18u);
  for (const Json& target : all["targets"]) {
    const Json one = Ok({"targets", target["name"], "--json"});
    EXPECT_EQ(one["name"], target["name"]);
    ExpectKeys(one, {"matrix", "vector", "scratchpad", "dma", "dram", "host"});
  }
  // What is printed can be read back.
  const std::string file = folder_.Write("mine.json", Text({"targets", "edge"}));
  EXPECT_EQ(Ok({"targets", file, "--json"}), Ok({"targets", "edge", "--json"}));
}

TEST_F(CliTest, Layer) {
  Json json = Ok({"layer", "gemm", "--m", "64", "--n", "64", "--k", "64", "--target",
                  "scalesim_ws_32", "--json"});
  EXPECT_EQ(json["array_cycles"], 2 * 2 * (2 * 32 + 32 + 64 - 2) - 1);
  ExpectReport(json);
  json = Ok({"layer", "gemm", "--m", "4", "--n", "4", "--k", "16", "--batch", "16", "--target",
             "rtl_os_4", "--array-only", "--json"});
  EXPECT_EQ(json["array_cycles"], 16 * 16 + 12);
  json = Ok({"layer", "conv", "--input", "28x28x16", "--filter", "3x3x16x32", "--stride", "2",
             "--pad", "1", "--target", "edge", "--dtype", "float32", "--json"});
  EXPECT_EQ(json["macs"], 14 * 14 * 32 * 9 * 16);
  json = Ok(
      {"layer", "conv", "--input", "28x28x16", "--filter", "3x3x4x32", "--groups", "4", "--json"});
  EXPECT_EQ(json["macs"], 26 * 26 * 32 * 9 * 4);
  json =
      Ok({"layer", "depthwise", "--input", "28x28x16", "--filter", "3x3", "--pad", "1", "--json"});
  EXPECT_EQ(json["macs"], 28 * 28 * 16 * 9);
  Text({"layer", "gemm", "--m", "8", "--n", "8", "--k", "8"});
}

TEST_F(CliTest, Dram) {
  for (const char* pattern : {"sequential", "rows", "streams", "random"}) {
    const Json json = Ok({"dram", "--pattern", pattern, "--target", "ddr4_3200", "--bytes", "65536",
                          "--row-bytes", "128", "--pitch-bytes", "6272", "--json"});
    ExpectKeys(json, {"bytes_per_cycle", "bus_fraction", "latency_cycles"});
    EXPECT_GT(json["bytes_per_cycle"], 0);
  }
  Text({"dram", "--pattern", "rows"});
}

TEST_F(CliTest, Place) {
  const std::string csv =
      folder_.Write("p.csv", "id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\n");
  Json json = Ok({"place", csv, "-o", Path("out.csv"), "--json"});
  EXPECT_EQ(json["status"], "optimal");
  EXPECT_EQ(json["height_bytes"], 8);
  EXPECT_EQ(json["lower_bound_bytes"], 8);
  ExpectKeys(json, {"method"});
  EXPECT_EQ(ReadBytes(Path("out.csv")).substr(0, 27), "id,lower,upper,size,offset\n");
  json = Ok({"place", csv, "--capacity", "12", "--time-limit", "5", "--json"});
  EXPECT_LE(json["height_bytes"], 12);
  const CliResult too_small = RunBerth({"place", csv, "--capacity", "7", "--json"});
  EXPECT_EQ(too_small.exit_code, 1);
  EXPECT_TRUE(too_small.HasOneLineError()) << too_small.err;
  EXPECT_EQ(too_small.Json()["status"], "infeasible");
  EXPECT_EQ(too_small.Json()["conflict"]["excess_bytes"], 1);
}

// Two wide values from one: one at a time, each beside what it is made of. Its file lists both
// first.
TEST_F(CliTest, Order) {
  const std::string graph = folder_.Write("g.json", R"({"nodes": [
      {"id": "a", "bytes": 4}, {"id": "left", "bytes": 100}, {"id": "right", "bytes": 100},
      {"id": "small left", "bytes": 1}, {"id": "small right", "bytes": 1}, {"id": "z", "bytes": 1}],
      "edges": [["a", "left"], ["a", "right"], ["left", "small left"], ["right", "small right"],
                ["small left", "z"], ["small right", "z"]]})");
  const Json json = Ok({"order", graph, "--json"});
  EXPECT_EQ(json["file_peak_bytes"], 204);
  EXPECT_EQ(json["peak_bytes"], 105);
  EXPECT_EQ(json["lower_bound_bytes"], 105);
  EXPECT_EQ(json["exact"], true);
  EXPECT_EQ(json["order"].size(), 6);
  EXPECT_NE(Text({"order", graph}).find("EXACT"), std::string::npos);
}

TEST_F(CliTest, Demo) {
  const std::vector<std::string> small = {"demo",         "--output-dir", Path("demo"),
                                          "--resolution", "64",           "--width",
                                          "0.25",         "--target",     "edge"};
  const std::string text = Text(small);
  EXPECT_NE(text.find("makespan"), std::string::npos);
  EXPECT_NE(text.find("greatest values"), std::string::npos);
  const std::string model = ReadBytes(Path("demo/mobilenet_v2.onnx"));
  Text(small);
  EXPECT_EQ(ReadBytes(Path("demo/mobilenet_v2.onnx")), model);  // the same bytes again
  Ok({"verify", Path("demo/mobilenet_v2.berth"), "--json"});
  const Json checked = Ok({"check", Path("demo/mobilenet_v2.onnx"), "--json"});
  EXPECT_EQ(checked["passed"], true);
  const Json own =
      Ok({"demo", WriteSmallModel(folder_.path()), "--output-dir", Path("demo"), "--json"});
  ExpectReport(own);
  EXPECT_TRUE(std::filesystem::exists(Path("demo/small.berth")));
}

TEST_F(CliTest, HelpOfEverySubcommand) {
  for (const char* command : {"compile", "run", "check", "inspect", "verify", "place", "layer",
                              "dram", "targets", "demo"}) {
    const std::string text = Text({command, "--help"});
    if (std::string(command) != "layer") {
      EXPECT_NE(text.find("--json"), std::string::npos) << command;
    }
  }
  EXPECT_NE(Text({"--help"}).find("compile"), std::string::npos);
}

}  // namespace
}  // namespace berth

// `berth quantize` from the outside: a model that compiles and checks, the report, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/planner/model_builder.h"
#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class CliQuantizeTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  Json Ok(const std::vector<std::string>& arguments) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json json = result.Json();
    EXPECT_TRUE(json.is_object()) << result.out;
    return json;
  }
  void ExpectError(const std::vector<std::string>& arguments, int exit_code,
                   const std::vector<std::string>& parts) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
    for (const std::string& part : parts) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
    }
  }
  std::string Model() { return WriteSmallModel(folder_.path()); }
  // A float32 array of equal values.
  std::string WriteNpy(const std::string& name, const std::string& shape, size_t count,
                       float value) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    const std::vector<float> values(count, value);
    fs::create_directories(fs::path(Path(name)).parent_path());
    return folder_.Write(
        name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                  std::string(reinterpret_cast<const char*>(values.data()), count * sizeof(float)));
  }

  ScratchFolder folder_;
};

TEST_F(CliQuantizeTest, WritesAModelThatComputesOnIntegers) {
  const std::string quantized = Path("q.onnx");
  const Json json = Ok({"quantize", Model(), "--random", "-o", quantized, "--json"});
  EXPECT_EQ(json["samples"], 8);
  EXPECT_EQ(json["float_ops"], Json::object());
  ASSERT_EQ(json["layers"].size(), 3u);  // the input, behind Relu, behind Flatten
  for (const Json& layer : json["layers"]) {
    for (const char* key : {"value", "op", "node", "dtype", "least", "most", "scale", "zero_point",
                            "clipped_share", "sqnr_db", "max_abs_error", "mean_abs_error"}) {
      EXPECT_TRUE(layer.contains(key)) << key;
    }
    EXPECT_GT(layer["sqnr_db"], 30.0) << layer;
  }
  ASSERT_EQ(json["outputs"].size(), 1u);
  EXPECT_EQ(json["outputs"][0]["name"], "scores");
  EXPECT_GT(json["outputs"][0]["sqnr_db"], 30.0);
  EXPECT_GE(json["outputs"][0]["top1_agreement"], 0.75);
  EXPECT_EQ(json["weights"][0]["scales"], 8);
  EXPECT_EQ(json["output_bytes"], fs::file_size(quantized));

  const Json check = Ok({"check", quantized, "--target", "edge", "--json"});
  EXPECT_EQ(check["passed"], true);
  const Json before = Ok({"check", Model(), "--target", "edge", "--json"});
  EXPECT_LT(check["makespan_cycles"], before["makespan_cycles"]);
}

TEST_F(CliQuantizeTest, PrintsEveryLayer) {
  const CliResult result =
      RunBerth({"quantize", Model(), "--random", "--samples", "2", "-o", Path("q.onnx")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"input", "Relu 'relu'", "SQNR", "output 'scores'", "same top-1 in"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in " << result.out;
  }
}

TEST_F(CliQuantizeTest, TheSeedDecidesTheBytes) {
  const auto quantize = [&](const std::string& name, const std::string& seed) {
    Ok({"quantize", Model(), "--random", "--seed", seed, "-o", Path(name), "--method", "entropy",
        "--json"});
    return ReadBytes(Path(name));
  };
  EXPECT_EQ(quantize("a.onnx", "5"), quantize("b.onnx", "5"));
  EXPECT_NE(quantize("a.onnx", "5"), quantize("c.onnx", "6"));
}

TEST_F(CliQuantizeTest, ReadsCasesAndArrays) {
  const auto samples = [&](const std::string& folder) {
    return Ok({"quantize", Model(), "--calibrate", Path(folder), "--activations", "uint8", "-o",
               Path("q.onnx"), "--json"})["calibration_samples"];
  };
  WriteNpy("cases/one/input_0.npy", "(1, 3, 16, 16)", 768, 0.5f);
  WriteNpy("cases/two/input_0.npy", "(1, 3, 16, 16)", 768, -1);
  EXPECT_EQ(samples("cases"), 2);
  EXPECT_EQ(samples("cases/one"), 1);
  WriteNpy("arrays/a.npy", "(3, 16, 16)", 768, 0.5f);
  WriteNpy("arrays/b.npy", "(5, 3, 16, 16)", 5 * 768, 2);
  EXPECT_EQ(samples("arrays"), 6);
}

TEST_F(CliQuantizeTest, RefusesWithReasons) {
  const std::string model = Model(), out = Path("q.onnx");
  ExpectError({"quantize", model, "-o", out}, 2, {"usage", "--calibrate"});
  ExpectError({"quantize", model, "-o", out, "--random", "--calibrate", "x"}, 2, {"usage"});
  ExpectError({"quantize", model, "--random"}, 2, {"--output"});
  ExpectError({"quantize", model, "-o", out, "--random", "--method", "best"}, 2, {"--method"});
  ExpectError({"quantize", model, "-o", out, "--random", "--range", "1", "0"}, 1, {"--range"});
  ExpectError({"quantize", model, "-o", out, "--calibrate", Path("none")}, 1, {"none"});
  fs::create_directories(Path("empty"));
  ExpectError({"quantize", model, "-o", out, "--calibrate", Path("empty")}, 1, {"input_0.npy"});
  WriteNpy("odd/a.npy", "(1, 3, 16, 16)", 768, INFINITY);
  ExpectError({"quantize", model, "-o", out, "--calibrate", Path("odd")}, 1,
              {"768 of 768 numbers are not finite", "a.npy", "'image'"});
  WriteNpy("wrong/a.npy", "(1, 3, 16, 8)", 384, 1);
  ExpectError({"quantize", model, "-o", out, "--calibrate", Path("wrong")}, 1,
              {"float32[1x3x16x8]", "float32[1x3x16x16] expected"});
  EXPECT_FALSE(fs::exists(out));
  Ok({"quantize", model, "--random", "-o", out, "--json"});
  ExpectError({"quantize", out, "--random", "-o", Path("r.onnx")}, 1, {"quantized already"});
}

TEST_F(CliQuantizeTest, OpenDimensionsComeFromAFlagOrTheFirstSample) {
  ModelBuilder builder(13);
  builder.Input("x", {-1, 4}).Output("y", {-1, 2});
  builder.Floats("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  builder.Node("MatMul", {"x", "w"}, {"y"});
  const std::string model = folder_.Write("open.onnx", builder.model), out = Path("q.onnx");
  ExpectError({"quantize", model, "-o", out, "--random"}, 1, {"--shape", "x"});
  Ok({"quantize", model, "-o", out, "--random", "--shape", "x=3x4", "--json"});
  WriteNpy("data/a.npy", "(2, 4)", 8, 1);
  WriteNpy("data/b.npy", "(2, 4)", 8, 3);
  WriteNpy("data/c.npy", "(3, 4)", 12, 3);
  const Json json = Ok({"quantize", model, "-o", out, "--calibrate", Path("data"), "--json"});
  EXPECT_EQ(json["calibration_samples"], 2);
  EXPECT_EQ(json["skipped_samples"], 1);
}

TEST_F(CliQuantizeTest, VisionModelsFromTheirReferences) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const std::string quantized = Path("q.onnx");
  const std::string refs = (shared / "corpus/refs/stm_mobilenet_v2_128_050.onnx").string();
  const Json json =
      Ok({"quantize", (shared / "corpus/models/vision/stm_mobilenet_v2_128_050.onnx").string(),
          "--calibrate", refs, "-o", quantized, "--json"});
  EXPECT_EQ(json["float_ops"], Json({{"Softmax", 1}}));
  for (const Json& output : json["outputs"]) {
    EXPECT_GT(output["sqnr_db"], 20.0) << output;
    EXPECT_EQ(output["top1_agreement"], 1.0) << output;
  }
}

}  // namespace
}  // namespace berth

// Whatever is wrong: one clear line on stderr, exit 1 (2 for a wrong call), nothing half-written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

class CliErrorTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // `parts` stand in the message.
  void ExpectError(const std::vector<std::string>& arguments, int exit_code,
                   const std::vector<std::string>& parts) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
    }
  }
  void ExpectFailure(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& parts) {
    ExpectError(arguments, 1, parts);
  }
  std::string Bundle() {
    const std::string bundle = Path("small.berth");
    EXPECT_EQ(RunBerth({"compile", WriteSmallModel(folder_.path()), "-o", bundle}).exit_code, 0);
    return bundle;
  }
  std::string WriteNpy(const std::string& name, const std::string& descr, const std::string& shape,
                       size_t data_bytes) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    return folder_.Write(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                                   std::string(data_bytes, '\0'));
  }
  size_t FilesIn(const std::string& folder) {
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
    return files;
  }

  ScratchFolder folder_;
};

TEST_F(CliErrorTest, WrongCalls) {
  ExpectError({}, 2, {"usage"});
  ExpectError({"frobnicate"}, 2, {"usage", "frobnicate"});
  ExpectError({"compile"}, 2, {"usage", "berth compile --help"});
  ExpectError({"run", "x.berth", "--no-such-flag"}, 2, {"--no-such-flag"});
  ExpectError({"run", "x.berth", "--threads", "0"}, 2, {"--threads"});
  ExpectError({"run", "x.berth", "--mode", "fast"}, 2, {"--mode"});
  ExpectError({"layer"}, 2, {"berth layer --help"});
  ExpectError({"layer", "gemm", "--m", "x", "--n", "1", "--k", "1"}, 2, {"--m"});
  ExpectError({"dram", "--pattern", "zigzag"}, 2, {"--pattern"});
  ExpectError({"place", "x.csv", "--capacity", "-5"}, 2, {"--capacity"});
}

TEST_F(CliErrorTest, FilesThatAreNone) {
  const std::string empty = folder_.Write("empty", "");
  const std::string garbage = folder_.Write("garbage", "this is neither model nor bundle");
  for (const char* command : {"check", "inspect", "verify", "run", "place"}) {
    ExpectFailure({command, Path("none")}, {"none"});
    ExpectFailure({command, folder_.path().string()}, {folder_.path().string()});
    ExpectFailure({command, empty}, {"empty"});
    ExpectFailure({command, garbage}, {"garbage"});
  }
  ExpectFailure({"compile", Path("none"), "-o", Path("x.berth")}, {"none", "no such file"});
  ExpectFailure({"compile", empty, "-o", Path("x.berth")}, {"empty"});
  ExpectFailure({"demo", Path("none"), "--output-dir", Path("d")}, {"none"});
  EXPECT_FALSE(std::filesystem::exists(Path("x.berth")));
}

TEST_F(CliErrorTest, TruncatedAndForeignBundles) {
  const std::string bytes = ReadBytes(Bundle());
  for (const size_t size :
       {size_t{1}, size_t{63}, size_t{100}, size_t{4096}, bytes.size() / 2, bytes.size() - 1}) {
    const std::string cut = folder_.Write("cut.berth", bytes.substr(0, size));
    for (const char* command : {"run", "verify", "inspect"}) {
      ExpectFailure({command, cut}, {"cut.berth"});
    }
  }
  ExpectFailure({"verify", WriteSmallModel(folder_.path())}, {"small.onnx", "bundle"});
  ExpectFailure({"compile", Path("small.berth"), "-o", Path("x")}, {"small.berth"});
}

TEST_F(CliErrorTest, Targets) {
  const std::string model = WriteSmallModel(folder_.path());
  const std::string out = Path("x.berth");
  ExpectFailure({"compile", model, "-o", out, "--target", "toaster"}, {"toaster", "edge"});
  ExpectFailure({"targets", "toaster"}, {"toaster", "edge"});
  ExpectFailure({"compile", model, "-o", out, "--target", Path("none.json")}, {"none.json"});
  const std::string bad =
      folder_.Write("bad.json", R"({"extends": "edge", "name": "bad", "dma": {"channels": 0}})");
  ExpectFailure({"compile", model, "-o", out, "--target", bad}, {"bad.json", "dma"});
  ExpectFailure({"targets", folder_.Write("no.json", "{")}, {"no.json"});
}

TEST_F(CliErrorTest, ShapesAndInputs) {
  const std::string bundle = Bundle();
  const std::string model = Path("small.onnx");
  ExpectFailure({"compile", model, "-o", Path("x"), "--shape", "image"}, {"--shape", "name="});
  ExpectFailure({"compile", model, "-o", Path("x"), "--shape", "image=1x3xx"}, {"1x3xx"});
  ExpectFailure({"compile", model, "-o", Path("x"), "--shape", "picture=1x3x16x16"}, {"picture"});
  ExpectFailure({"compile", model, "-o", Path("x"), "--shape", "image=1x3x8x8"}, {"image"});
  ExpectFailure({"run", bundle, "--input", "picture=a.npy"}, {"picture", "image"});
  ExpectFailure({"run", bundle, "--input", "1=a.npy"}, {"'1'", "image"});
  ExpectFailure({"run", bundle, "--input", "image"}, {"--input"});
  ExpectFailure({"run", bundle, "--input", "image=" + Path("none.npy")}, {"none.npy"});
  const std::string shape = WriteNpy("shape.npy", "<f4", "(1, 3, 8, 8)", 768);
  ExpectFailure({"run", bundle, "--input", "image=" + shape},
                {"image", "shape.npy", "1x3x8x8", "1x3x16x16"});
  const std::string dtype = WriteNpy("dtype.npy", "<f8", "(1, 3, 16, 16)", 6144);
  ExpectFailure({"run", bundle, "--input", "0=" + dtype}, {"image", "float64", "float32"});
  const std::string cut = WriteNpy("cut.npy", "<f4", "(1, 3, 16, 16)", 3000);
  ExpectFailure({"run", bundle, "--input", "0=" + cut}, {"cut.npy", "3072", "3000"});
}

TEST_F(CliErrorTest, EveryUnsupportedOpIsNamedAtOnce) {
  ModelBuilder builder;
  builder.Input("x", {1, 4}).Output("z", {1, 4});
  builder.Node("Frobnicate", {"x"}, {"y"}, "first");
  builder.Node("Transmogrify", {"y"}, {"z"}, "second");
  const std::string model = folder_.Write("odd.onnx", builder.model);
  ExpectFailure({"compile", model, "-o", Path("x.berth")}, {"Frobnicate", "Transmogrify"});
  EXPECT_FALSE(std::filesystem::exists(Path("x.berth")));
}

TEST_F(CliErrorTest, AModelThatDoesNotFit) {
  const std::string model = WriteSmallModel(folder_.path());
  const std::string tiny = folder_.Write(
      "tiny.json", R"({"extends": "edge", "name": "tiny", "scratchpad": {"size_bytes": 1024}})");
  const CliResult result = RunBerth({"compile", model, "-o", Path("x.berth"), "--target", tiny});
  if (result.exit_code == 0) GTEST_SKIP() << "fits 1024 bytes";
  ExpectFailure({"compile", model, "-o", Path("x.berth"), "--target", tiny},
                {"1024 bytes", "would do"});
  ExpectFailure({"compile", model, "-o", Path("x.berth"), "--pool-budget", "64"},
                {"pool budget of 64 bytes", "live at once", "in any"});
  const std::string dram = folder_.Write(
      "dram.json", R"({"extends": "edge", "name": "narrow", "dram": {"size_bytes": 4096}})");
  ExpectFailure({"compile", model, "-o", Path("x.berth"), "--target", dram},
                {"'narrow' has 4096 bytes of DRAM", "too many"});
  EXPECT_FALSE(std::filesystem::exists(Path("x.berth")));
}

TEST_F(CliErrorTest, OutputsThatCannotBeWritten) {
  const std::string bundle = Bundle();
  const std::string model = Path("small.onnx");
  ExpectFailure({"compile", model, "-o", Path("no/such/folder/x.berth")}, {"no/such/folder"});
  ExpectFailure({"compile", model, "-o", folder_.path().string()}, {folder_.path().string()});
  ExpectFailure({"run", bundle, "--output-dir", bundle}, {"small.berth"});
  ExpectFailure({"run", bundle, "--output-dir", bundle + "/x"}, {"small.berth"});
  ExpectFailure(
      {"place", folder_.Write("p.csv", "id,lower,upper,size\na,0,3,4\n"), "-o", Path("no/x.csv")},
      {"no/x.csv"});
  EXPECT_EQ(FilesIn(folder_.path()), 3u);  // model, bundle, CSV: no temporary file is left
  EXPECT_EQ(RunBerth({"verify", bundle}).exit_code, 0);
}

TEST_F(CliErrorTest, Places) {
  ExpectFailure({"place", folder_.Write("a.csv", "id,lower,upper\na,0,3\n")}, {"a.csv", "size"});
  ExpectFailure({"place", folder_.Write("b.csv", "id,lower,upper,size\na,0,x,4\n")},
                {"b.csv", "line 2"});
  ExpectFailure({"place", folder_.Write("c.csv", "id,lower,upper,size\na,3,1,4\n")}, {"c.csv"});
}

TEST_F(CliErrorTest, Orders) {
  const auto expect_failure = [&](const std::string& json, const std::vector<std::string>& parts) {
    ExpectFailure({"order", folder_.Write("g.json", json)}, parts);
  };
  expect_failure("nope", {"g.json", "JSON"});
  expect_failure(R"({"nodes": [], "edges": []})", {"no nodes"});
  expect_failure(R"({"nodes": [{"id": 0, "bytes": -4}], "edges": []})", {"nodes[0]", "bytes"});
  expect_failure(R"({"nodes": [{"id": 7, "bytes": 1}, {"id": 7, "bytes": 1}], "edges": []})",
                 {"nodes[1]", "7"});
  expect_failure(R"({"nodes": [{"id": 0, "bytes": 1}], "edges": [[0, 9]]})", {"edges[0]", "9"});
  expect_failure(R"({"nodes": [{"id": 0, "bytes": 1}, {"id": 1, "bytes": 1}],
                     "edges": [[0, 1], [1, 0]]})",
                 {"cycle"});
}

TEST_F(CliErrorTest, LayersAndStreams) {
  ExpectFailure({"layer", "gemm", "--m", "0", "--n", "1", "--k", "1"}, {"M is 0"});
  ExpectFailure({"layer", "conv", "--input", "8x8", "--filter", "3x3x8x8"}, {"8x8", "HxWxC"});
  ExpectFailure({"layer", "conv", "--input", "8x8x8", "--filter", "3x3x4x8"}, {"3x3x4x8"});
  ExpectFailure({"layer", "conv", "--input", "2x2x8", "--filter", "3x3x8x8"}, {"does not fit"});
  ExpectFailure({"layer", "gemm", "--m", "1", "--n", "1", "--k", "1", "--dtype", "int3"},
                {"int3", "int8"});
  ExpectFailure({"dram", "--pattern", "rows", "--pitch-bytes", "1"}, {"--pitch-bytes"});
  ExpectFailure({"dram", "--pattern", "streams", "--write-share", "2"}, {"--write-share"});
}

TEST_F(CliErrorTest, NamesOfManyLinesStayOneLine) {
  ModelBuilder builder;
  builder.Input("x", {1, 4}).Output("z", {1, 4});
  builder.Node("Bad\nOp\x1b[31m", {"x"}, {"z"}, "node\n\nname");
  ExpectFailure({"compile", folder_.Write("odd.onnx", builder.model), "-o", Path("x")}, {"Bad Op"});
  ExpectFailure({"compile", Path("two\nlines"), "-o", Path("x")}, {"two lines"});
}

}  // namespace
}  // namespace berth

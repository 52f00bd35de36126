// What `berth check` says about folders of references, and where it looks for a difference.
#include <fstream>

#include "tests/planner/model_builder.h"
#include "tests/planner/tflite_testing.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using Op = tfl::BuiltinOperator;

// A NumPy file of bytes.
void WriteInt8s(const fs::path& path, const std::string& shape, const std::vector<int8_t>& values) {
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<long>(values.size()));
}

// Two fully connected layers of one unit: y = x, quantized by one.
std::string TwoLayers() {
  TfliteWriter writer;
  const auto value = [&](const char* name) {
    return writer.Value({name, {4, 1}, tfl::ElementType::INT8, {1.0f}, {0}});
  };
  const int x = value("x"), between = value("between"), y = value("y");
  const int weight =
      writer.Constant<int8_t>({"w", {1, 1}, tfl::ElementType::INT8, {1.0f}, {0}}, {1});
  for (const auto& [from, to] : {std::pair{x, between}, {between, y}}) {
    writer.Op(Op::FULLY_CONNECTED, {from, weight}, {to},
              tfl::CreateFullyConnectedOptions(writer.fbb()));
  }
  return writer.Finish({x}, {y});
}

TEST(CliCheck, FoldersWithoutExpectedOutputs) {
  const ScratchFolder folder;
  const fs::path refs = folder.path() / "refs";
  fs::create_directories(refs / "case0");
  const TestFile model(TwoLayers());
  CliResult result = RunBerth({"check", model.path(), "--refs", refs});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.HasOneLineError()) << result.err;
  EXPECT_NE(result.err.find("holds no expected outputs (output_0.npy):"), std::string::npos);
  WriteInt8s(refs / "case0" / "input_0.npy", "4, 1", {1, 2, 3, 4});
  result = RunBerth({"check", model.path(), "--refs", refs});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find(", only inputs of 1 cases"), std::string::npos) << result.err;
}

// The integers between the layers are looked at; wrong are the expected outputs.
TEST(CliCheck, LooksAtIntegersForTheFirstDifference) {
  const ScratchFolder folder;
  const TestFile model(TwoLayers());
  WriteInt8s(folder.path() / "input_0.npy", "4, 1", {1, 2, 3, 4});
  WriteInt8s(folder.path() / "output_0.npy", "4, 1", {1, 2, 3, 4});
  EXPECT_EQ(RunBerth({"check", model.path(), "--refs", folder.path()}).exit_code, 0);
  WriteInt8s(folder.path() / "output_0.npy", "4, 1", {1, 2, 3, 40});
  const CliResult result = RunBerth({"check", model.path(), "--refs", folder.path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("intermediate values differs from the reference"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("none of its 0 "), std::string::npos) << result.err;
}

}  // namespace
}  // namespace berth

#include "tests/tools/cli_testing.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/onnx/model_builder.h"

namespace berth {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 100.0f;
  }
  return values;
}

}  // namespace

nlohmann::json CliResult::Json() const {
  const nlohmann::json json = nlohmann::json::parse(out, nullptr, false);
  return json.is_discarded() ? nlohmann::json() : json;
}

bool CliResult::HasOneLineError() const {
  return err.rfind("berth: ", 0) == 0 && err.find('\n') == err.size() - 1;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

CliResult RunBerth(const std::vector<std::string>& arguments) {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth_cli_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::string command = Quoted(BERTH_CLI);
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  command += " </dev/null >" + Quoted(folder / "out") + " 2>" + Quoted(folder / "err");
  const int status = std::system(command.c_str());
  CliResult result;
  // The shell reports a signal as 128 + its number.
  if (WIFEXITED(status) && WEXITSTATUS(status) < 128) result.exit_code = WEXITSTATUS(status);
  result.out = ReadBytes(folder / "out");
  result.err = ReadBytes(folder / "err");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

std::string WriteSmallModel(const std::string& folder) {
  ModelBuilder builder(13, "small");
  builder.Input("image", {1, 3, 16, 16});
  builder.Output("scores", {1, 10});
  builder.Floats("conv.weight", {8, 3, 3, 3}, Ramp(8 * 3 * 3 * 3));
  onnx::NodeProto& conv = builder.Node("Conv", {"image", "conv.weight"}, {"features"}, "conv");
  SetInts(conv, "kernel_shape", {3, 3});
  SetInts(conv, "pads", {1, 1, 1, 1});
  SetInts(conv, "strides", {2, 2});
  builder.Node("Relu", {"features"}, {"positive"}, "relu");
  builder.Node("Flatten", {"positive"}, {"flat"}, "flatten");
  builder.Floats("fc.weight", {8 * 8 * 8, 10}, Ramp(8 * 8 * 8 * 10));
  builder.Node("MatMul", {"flat", "fc.weight"}, {"scores"}, "fc");
  const std::string path = folder + "/small.onnx";
  std::ofstream(path, std::ios::binary) << builder.model.SerializeAsString();
  return path;
}

}  // namespace berth

// Runs the built `berth` and keeps what it says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace berth {

struct CliResult {
  int exit_code = -1;  // -1: ended by a signal
  std::string out, err;

  nlohmann::json Json() const;  // of `out`; null where it is no JSON
  // One line that begins with "berth: ".
  bool HasOneLineError() const;
};

// Standard error is no terminal. Arguments are passed as they are.
CliResult RunBerth(const std::vector<std::string>& arguments);

std::string ReadBytes(const std::string& path);

// A convolution, ReLU and a product on a 3x16x16 image: writes FOLDER/small.onnx, returns the path.
std::string WriteSmallModel(const std::string& folder);

}  // namespace berth

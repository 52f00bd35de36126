#include "planner/import_model.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "planner/tflite/import.h"

namespace berth {

bool IsTfliteFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // the importer says what it is
  std::array<char, 8> head{};
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<size_t>(stream.gcount()));
  if (text.size() == head.size() && text.substr(4) == "TFL3") return true;
  return std::filesystem::path(path).extension() == ".tflite";
}

absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options) {
  return IsTfliteFile(path) ? ImportTflite(path, options) : ImportOnnx(path, options);
}

}  // namespace berth

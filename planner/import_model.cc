#include "planner/import_model.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "planner/tflite/import.h"

namespace berth {
namespace {

bool IsTfliteContent(std::string_view text) {
  return text.size() >= 8 && text.substr(4, 4) == "TFL3";
}

}  // namespace

bool IsTfliteFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // the importer says what it is
  std::array<char, 8> head{};
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<size_t>(stream.gcount()));
  if (IsTfliteContent(text)) return true;
  return std::filesystem::path(path).extension() == ".tflite";
}

absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options) {
  return IsTfliteFile(path) ? ImportTflite(path, options) : ImportOnnx(path, options);
}

absl::StatusOr<Graph> ImportModelBytes(absl::Span<const std::byte> bytes,
                                       const ImportOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return IsTfliteContent(text) ? ImportTfliteBytes(bytes, options)
                               : ImportOnnxBytes(bytes, options);
}

}  // namespace berth

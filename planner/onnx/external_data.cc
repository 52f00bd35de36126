#include "planner/onnx/external_data.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "planner/onnx/model_file.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<int64_t> ParseBytes(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return InvalidArgument("external data: {} '{}' is no byte count", key, OneLine(text, 40));
  }
  return value;
}

struct Entries {
  std::string location;
  int64_t offset_bytes = 0;
  std::optional<int64_t> length_bytes;
};

absl::StatusOr<Entries> ParseEntries(const onnx::TensorProto& proto) {
  Entries entries;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") entries.location = entry.value();
    if (entry.key() == "offset") {
      BERTH_ASSIGN_OR_RETURN(entries.offset_bytes, ParseBytes("offset", entry.value()));
    }
    if (entry.key() == "length") {
      BERTH_ASSIGN_OR_RETURN(entries.length_bytes, ParseBytes("length", entry.value()));
    }
  }
  return entries;
}

absl::StatusOr<fs::path> Confine(const std::string& location, const fs::path& model_folder) {
  const std::string name = OneLine(location, 200);
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    return InvalidArgument("external data: location '{}' names no file", name);
  }
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (relative.is_absolute() || climbs) {
    return InvalidArgument("external data: location '{}' leaves the model's folder", name);
  }
  if (model_folder.empty()) {
    return InvalidArgument("external data: file '{}' of a model in memory, whose folder is unknown",
                           name);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(model_folder, error);
  if (error) return InvalidArgument("external data: the model's folder cannot be resolved");
  const fs::path file = fs::canonical(folder / relative, error);
  if (error) {
    return NotFound("external data: file '{}' is not there: {}", name, error.message());
  }
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  if (end != folder.end()) {
    return InvalidArgument("external data: location '{}' leaves the model's folder", name);
  }
  return file;
}

}  // namespace

absl::StatusOr<ExternalRange> LocateExternalData(const onnx::TensorProto& proto,
                                                 const fs::path& model_folder, int64_t size_bytes) {
  BERTH_ASSIGN_OR_RETURN(const Entries entries, ParseEntries(proto));
  BERTH_ASSIGN_OR_RETURN(const fs::path file, Confine(entries.location, model_folder));
  BERTH_ASSIGN_OR_RETURN(const int64_t file_bytes, RegularFileBytes(file));
  if (entries.length_bytes && *entries.length_bytes != size_bytes) {
    return InvalidArgument("external data: length {} where its type takes {} bytes",
                           *entries.length_bytes, size_bytes);
  }
  if (entries.offset_bytes > file_bytes || size_bytes > file_bytes - entries.offset_bytes) {
    return InvalidArgument("external data: {} bytes at offset {} of '{}', which has {}", size_bytes,
                           entries.offset_bytes, OneLine(entries.location, 200), file_bytes);
  }
  return ExternalRange{file, entries.offset_bytes};
}

absl::Status ReadExternalData(const onnx::TensorProto& proto, const fs::path& model_folder,
                              Tensor& tensor) {
  const auto size_bytes = static_cast<int64_t>(tensor.bytes().size());
  BERTH_ASSIGN_OR_RETURN(const ExternalRange range,
                         LocateExternalData(proto, model_folder, size_bytes));
  std::ifstream stream(range.file, std::ios::binary);
  stream.seekg(range.offset_bytes);
  stream.read(reinterpret_cast<char*>(tensor.bytes().data()), size_bytes);
  if (!stream || stream.gcount() != size_bytes) {
    return InvalidArgument("external data: cannot read {} bytes at offset {}", size_bytes,
                           range.offset_bytes);
  }
  return absl::OkStatus();
}

}  // namespace berth

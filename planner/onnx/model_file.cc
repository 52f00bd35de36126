#include "planner/onnx/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "planner/onnx/text.h"

namespace berth {
namespace {

// Protocol buffers cannot be larger; such models keep their weights in external files.
constexpr int64_t kMaxModelBytes = (int64_t{1} << 31) - 1;

// What bytes that do not parse may be instead.
std::string_view HintFromContent(std::string_view text) {
  if (text.starts_with("version https://git-lfs")) {
    return " (a Git LFS pointer: fetch the file with 'git lfs pull')";
  }
  if (text.size() >= 8 && text.substr(4, 4) == "TFL3") return " (a TFLite model)";
  if (text.starts_with("BERTHNPU")) return " (a bundle, which is already compiled)";
  return "";
}

std::string_view HintFromFile(const std::string& path) {
  std::array<char, 64> head{};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t count = read(fd, head.data(), head.size());
  close(fd);
  return HintFromContent({head.data(), count > 0 ? static_cast<size_t>(count) : 0});
}

}  // namespace

absl::StatusOr<int64_t> RegularFileBytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const std::string name = OneLine(path.string());
  if (status.type() == std::filesystem::file_type::not_found) {
    return NotFound("no such file: '{}'", name);
  }
  if (error) return InvalidArgument("cannot open '{}': {}", name, error.message());
  if (std::filesystem::is_directory(status)) return InvalidArgument("'{}' is a directory", name);
  if (!std::filesystem::is_regular_file(status)) {
    return InvalidArgument("'{}' is not a regular file", name);
  }
  const uintmax_t size_bytes = std::filesystem::file_size(path, error);
  if (error) return InvalidArgument("cannot read '{}': {}", name, error.message());
  return static_cast<int64_t>(size_bytes);
}

absl::StatusOr<onnx::ModelProto> ReadModelFile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const int64_t size_bytes, RegularFileBytes(path));
  const std::string name = OneLine(path);
  if (size_bytes == 0) return InvalidArgument("'{}' is empty (0 bytes)", name);
  if (size_bytes > kMaxModelBytes) {
    return InvalidArgument("'{}' has {} bytes, a model file has at most {}", name, size_bytes,
                           kMaxModelBytes);
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return InvalidArgument("cannot open '{}': {}", name, std::strerror(errno));
  google::protobuf::io::FileInputStream stream(fd);
  stream.SetCloseOnDelete(true);
  onnx::ModelProto model;
  if (!model.ParseFromZeroCopyStream(&stream)) {
    return InvalidArgument("'{}' is not an ONNX model: its {} bytes do not parse{}", name,
                           size_bytes, HintFromFile(path));
  }
  if (!model.has_graph()) {
    return InvalidArgument("'{}' is not an ONNX model: it holds no graph", name);
  }
  return model;
}

absl::StatusOr<onnx::ModelProto> ParseModelBytes(absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return InvalidArgument("the model in memory is empty (0 bytes)");
  if (bytes.size() > static_cast<size_t>(kMaxModelBytes)) {
    return InvalidArgument("the model in memory has {} bytes, a model has at most {}", bytes.size(),
                           kMaxModelBytes);
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(
        "the {} bytes in memory are no ONNX model: they do not parse{}", bytes.size(),
        HintFromContent({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  if (!model.has_graph()) {
    return InvalidArgument("the {} bytes in memory are no ONNX model: it holds no graph",
                           bytes.size());
  }
  return model;
}

}  // namespace berth

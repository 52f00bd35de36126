#include "planner/tflite/model_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "planner/onnx/model_file.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// Offsets in a flatbuffer are 32 bits wide, signed in places; what stands behind it is not.
constexpr size_t kMaxFlatbufferBytes = (size_t{1} << 31) - 1;
constexpr int64_t kMaxFileBytes = int64_t{1} << 36;
// Bounds the work of the verifier on a made-up file.
constexpr unsigned kMaxDepth = 32;
constexpr unsigned kMaxTables = 4000000;

absl::StatusOr<std::vector<std::byte>> ReadBytes(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const int64_t size_bytes, RegularFileBytes(path));
  const std::string name = OneLine(path);
  if (size_bytes == 0) return InvalidArgument("'{}' is empty (0 bytes)", name);
  if (size_bytes > kMaxFileBytes) {
    return InvalidArgument("'{}' has {} bytes, a model file has at most {}", name, size_bytes,
                           kMaxFileBytes);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(size_bytes));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return InvalidArgument("cannot open '{}': {}", name, std::strerror(errno));
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), size_bytes)) {
    return InvalidArgument("cannot read '{}': {} of {} bytes came", name, stream.gcount(),
                           size_bytes);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<const tfl::Model*> VerifyTfliteBytes(absl::Span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() < 8 || std::memcmp(data + 4, tfl::ModelIdentifier(), 4) != 0) {
    return InvalidArgument("no identifier TFL3 at bytes 4 to 8 of {}", bytes.size());
  }
  flatbuffers::Verifier verifier(data, std::min(bytes.size(), kMaxFlatbufferBytes), kMaxDepth,
                                 kMaxTables);
  if (!tfl::VerifyModelBuffer(verifier)) {
    return InvalidArgument("the flatbuffer of {} bytes is cut off or damaged", bytes.size());
  }
  return tfl::GetModel(data);
}

absl::StatusOr<TfliteFile> ReadTfliteFile(const std::string& path) {
  TfliteFile file;
  BERTH_ASSIGN_OR_RETURN(file.bytes, ReadBytes(path));
  auto model = VerifyTfliteBytes(file.bytes);
  if (!model.ok()) {
    return Annotate(model.status(), fmt::format("'{}' is not a TFLite model", OneLine(path)));
  }
  file.model = *model;
  return file;
}

}  // namespace berth

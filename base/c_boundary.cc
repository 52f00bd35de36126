#include "base/c_boundary.h"

#include <array>
#include <cstddef>
#include <string>

namespace berth::c_api {
namespace {

// Long enough for any message of ours; what is longer is cut, so that an error can be told when no
// memory is left. The one state that the library has: each thread's own.
constexpr size_t kMessageBytes = 2048;
thread_local std::array<char, kMessageBytes> last_message = {};

void Remember(const char* message, size_t message_bytes) noexcept {
  const size_t kept = std::min(message_bytes, kMessageBytes - 1);
  std::memcpy(last_message.data(), message, kept);
  last_message[kept] = '\0';
}

}  // namespace

int32_t Keep(const absl::Status& status) noexcept {
  if (status.ok()) return 0;
  const absl::string_view message = status.message();
  Remember(message.data(), message.size());
  return static_cast<int32_t>(status.code());
}

int32_t KeepMessage(absl::StatusCode code, const char* message) noexcept {
  Remember(message, std::strlen(message));
  return static_cast<int32_t>(code);
}

const char* LastMessage() noexcept { return last_message.data(); }

absl::Status CheckNotNull(const void* pointer, const char* name) {
  return pointer != nullptr ? absl::OkStatus() : InvalidArgument("{} is null", name);
}

absl::Status CheckStructSize(size_t struct_size, size_t least_bytes, const char* name) {
  // More than any version will have is a struct whose size was never set.
  constexpr size_t kMostBytes = 4096;
  if (struct_size >= least_bytes && struct_size <= kMostBytes) return absl::OkStatus();
  return InvalidArgument("{}: struct_size {} is no size of this struct (see its ..._init)", name,
                         struct_size);
}

absl::Status CheckUnknownFields(const void* bytes, size_t known_bytes, size_t struct_size,
                                const char* name) {
  const auto* const begin = static_cast<const unsigned char*>(bytes);
  for (size_t i = known_bytes; i < struct_size; ++i) {
    if (begin[i] == 0) continue;
    return Unimplemented("{}: byte {} is set, this library knows {} bytes of it", name, i,
                         known_bytes);
  }
  return absl::OkStatus();
}

Logger LoggerOf(LogCallback callback, void* user, int32_t level) {
  if (callback == nullptr || level <= 0) return {};
  Logger logger;
  logger.level = static_cast<LogLevel>(std::min(level, static_cast<int32_t>(LogLevel::kDebug)));
  logger.sink = [callback, user](LogLevel told, std::string_view message) {
    const std::string text(message);
    callback(user, static_cast<int32_t>(told), text.c_str(), text.size());
  };
  return logger;
}

absl::StatusOr<bool> ReadFlag(int32_t value, const char* name) {
  if (value == 0 || value == 1) return value == 1;
  return InvalidArgument("{}: {} is neither 0 nor 1", name, value);
}

}  // namespace berth::c_api

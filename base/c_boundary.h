// Where C++ ends and a C API begins: the one place in which exceptions stop and errors become
// numbers, and structs that differ in size between the caller's header and the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

#include "base/log.h"
#include "base/status.h"

namespace berth::c_api {

// Remembers the message for this thread; gives the code as a number, which the C APIs' constants
// equal. Does not allocate.
int32_t Keep(const absl::Status& status) noexcept;
int32_t KeepMessage(absl::StatusCode code, const char* message) noexcept;

// Every entry runs its body in here: what it returns or throws becomes a code and a message.
template <typename Body>
int32_t Guard(Body&& body) noexcept {
  try {
    return Keep(body());
  } catch (const std::bad_alloc&) {
    return KeepMessage(absl::StatusCode::kResourceExhausted, "out of memory");
  } catch (const std::exception& error) {
    return KeepMessage(absl::StatusCode::kInternal, error.what());
  } catch (...) {
    return KeepMessage(absl::StatusCode::kInternal, "an exception of unknown type");
  }
}

// Of the last failure of this thread; empty before one.
const char* LastMessage() noexcept;

absl::Status CheckNotNull(const void* pointer, const char* name);
#define BERTH_REQUIRE(pointer) \
  BERTH_RETURN_IF_ERROR(::berth::c_api::CheckNotNull(pointer, #pointer))

absl::Status CheckStructSize(size_t struct_size, size_t least_bytes, const char* name);
// The bytes behind those that this library knows must be zero: the defaults.
absl::Status CheckUnknownFields(const void* bytes, size_t known_bytes, size_t struct_size,
                                const char* name);

// The caller's options in the size of this library: what the caller does not know is zero.
template <typename Options>
absl::StatusOr<Options> ReadOptions(const Options* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Options>);
  Options options{};
  if (given != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckStructSize(given->struct_size, sizeof(size_t), name));
    BERTH_RETURN_IF_ERROR(CheckUnknownFields(given, sizeof(Options), given->struct_size, name));
    std::memcpy(&options, given, std::min(given->struct_size, sizeof(Options)));
  }
  options.struct_size = sizeof(Options);
  return options;
}

// Writes as much as the caller has room for; the rest of the caller's struct becomes zero.
template <typename Struct>
absl::Status WriteStruct(Struct value, Struct* result, const char* name) {
  BERTH_RETURN_IF_ERROR(CheckNotNull(result, name));
  const size_t struct_size = result->struct_size;
  BERTH_RETURN_IF_ERROR(CheckStructSize(struct_size, sizeof(size_t), name));
  value.struct_size = struct_size;
  std::memcpy(result, &value, std::min(struct_size, sizeof(Struct)));
  if (struct_size > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(result) + sizeof(Struct), 0, struct_size - sizeof(Struct));
  }
  return absl::OkStatus();
}

// What tells a C callback (`message` ends with a zero); silent without one or for level 0.
using LogCallback = void (*)(void* user, int32_t level, const char* message, size_t message_bytes);
Logger LoggerOf(LogCallback callback, void* user, int32_t level);

// InvalidArgument for a flag that is neither 0 nor 1.
absl::StatusOr<bool> ReadFlag(int32_t value, const char* name);

}  // namespace berth::c_api

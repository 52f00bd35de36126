// Status helpers: the few macros and constructors that the packaged Abseil (20220623) lacks.
//
// Invariant: this is the one place where std::string_view becomes absl::string_view (in the
// packaged Abseil they are different types).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace berth {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

// An error whose message is formatted by fmt: Error(kInvalidArgument, "Conv 'x': stride {}", 0).
template <typename... Args>
absl::Status Error(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return absl::Status(code, ToAbsl(fmt::format(format, std::forward<Args>(args)...)));
}

#define BERTH_DEFINE_ERROR(NAME, CODE)                                         \
  template <typename... Args>                                                  \
  absl::Status NAME(fmt::format_string<Args...> format, Args&&... args) {      \
    return Error(absl::StatusCode::CODE, format, std::forward<Args>(args)...); \
  }
BERTH_DEFINE_ERROR(InvalidArgument, kInvalidArgument)        // the model or the user is wrong
BERTH_DEFINE_ERROR(Unimplemented, kUnimplemented)            // op, attribute or dtype not supported
BERTH_DEFINE_ERROR(DataLoss, kDataLoss)                      // bytes of a bundle are wrong
BERTH_DEFINE_ERROR(ResourceExhausted, kResourceExhausted)    // needed and available bytes
BERTH_DEFINE_ERROR(FailedPrecondition, kFailedPrecondition)  // order of calls
BERTH_DEFINE_ERROR(NotFound, kNotFound)
BERTH_DEFINE_ERROR(Cancelled, kCancelled)
BERTH_DEFINE_ERROR(DeadlineExceeded, kDeadlineExceeded)
BERTH_DEFINE_ERROR(Internal, kInternal)  // our own verifier failed
#undef BERTH_DEFINE_ERROR

// The same error with "where: " in front of its message.
absl::Status Annotate(const absl::Status& status, std::string_view where);

}  // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)

#define BERTH_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                     \
    if (absl::Status berth_status = (expression); !berth_status.ok()) return berth_status; \
  } while (false)

#define BERTH_ASSIGN_OR_RETURN(declaration, expression) \
  BERTH_ASSIGN_OR_RETURN_INNER(BERTH_CONCAT(berth_statusor_, __LINE__), declaration, expression)
#define BERTH_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return result.status();                           \
  declaration = *std::move(result)

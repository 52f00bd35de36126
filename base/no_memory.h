// Where exceptions of libraries end. We throw none, but containers throw std::bad_alloc, and
// threads std::system_error; the calls that hosts make turn these into errors.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace berth {

// ResourceExhausted; without a message where there is no memory for one either.
inline absl::Status NoMemory(const char* what) noexcept {
  try {
    return ResourceExhausted("out of memory ({})", what);
  } catch (...) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// work(), which returns a Status or StatusOr.
template <typename Work>
auto CatchNoMemory(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc& error) {
    return NoMemory(error.what());
  } catch (const std::length_error& error) {
    return NoMemory(error.what());
  } catch (const std::system_error& error) {  // no thread to be had
    return NoMemory(error.what());
  }
}

}  // namespace berth

// Handles of the C API as values that release themselves, and its errors as exceptions.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "berth/berth_planner.h"

namespace berth_python {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws what `message` says of a call that failed.
inline void Check(berth_status status, const char* message) {
  if (status != BERTH_OK) throw Error(std::string(berth_status_name(status)) + ": " + message);
}
inline void Check(berth_status status) { Check(status, berth_last_error_message()); }

template <auto Release>
struct Releaser {
  template <typename Handle>
  void operator()(Handle* handle) const {
    Release(handle);
  }
};
using ProgramHandle = std::shared_ptr<berth_program>;
using PoolHandle = std::shared_ptr<berth_arena_pool>;
using ContextHandle = std::unique_ptr<berth_context, Releaser<berth_context_release>>;
using ReportHandle = std::unique_ptr<berth_report, Releaser<berth_report_release>>;
using TensorListHandle = std::unique_ptr<berth_tensor_list, Releaser<berth_tensor_list_release>>;

}  // namespace berth_python

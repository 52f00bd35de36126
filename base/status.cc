#include "base/status.h"

namespace berth {

absl::Status Annotate(const absl::Status& status, std::string_view where) {
  if (status.ok()) return status;
  return Error(status.code(), "{}: {}", where, ToStd(status.message()));
}

}  // namespace berth

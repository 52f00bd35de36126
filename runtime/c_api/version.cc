// Versions, errors, and the constants of berth.h, which equal those of the C++ types.
#include "runtime/c_api/api.h"

static_assert(BERTH_OK == static_cast<int>(absl::StatusCode::kOk));
static_assert(BERTH_CANCELLED == static_cast<int>(absl::StatusCode::kCancelled));
static_assert(BERTH_UNKNOWN == static_cast<int>(absl::StatusCode::kUnknown));
static_assert(BERTH_INVALID_ARGUMENT == static_cast<int>(absl::StatusCode::kInvalidArgument));
static_assert(BERTH_DEADLINE_EXCEEDED == static_cast<int>(absl::StatusCode::kDeadlineExceeded));
static_assert(BERTH_NOT_FOUND == static_cast<int>(absl::StatusCode::kNotFound));
static_assert(BERTH_RESOURCE_EXHAUSTED == static_cast<int>(absl::StatusCode::kResourceExhausted));
static_assert(BERTH_FAILED_PRECONDITION == static_cast<int>(absl::StatusCode::kFailedPrecondition));
static_assert(BERTH_UNIMPLEMENTED == static_cast<int>(absl::StatusCode::kUnimplemented));
static_assert(BERTH_INTERNAL == static_cast<int>(absl::StatusCode::kInternal));
static_assert(BERTH_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));
static_assert(BERTH_FLOAT32 == static_cast<int>(berth::DType::kFloat32));
static_assert(BERTH_FLOAT16 == static_cast<int>(berth::DType::kFloat16));
static_assert(BERTH_BFLOAT16 == static_cast<int>(berth::DType::kBFloat16));
static_assert(BERTH_FLOAT64 == static_cast<int>(berth::DType::kFloat64));
static_assert(BERTH_INT8 == static_cast<int>(berth::DType::kInt8));
static_assert(BERTH_UINT8 == static_cast<int>(berth::DType::kUInt8));
static_assert(BERTH_INT16 == static_cast<int>(berth::DType::kInt16));
static_assert(BERTH_UINT16 == static_cast<int>(berth::DType::kUInt16));
static_assert(BERTH_INT32 == static_cast<int>(berth::DType::kInt32));
static_assert(BERTH_UINT32 == static_cast<int>(berth::DType::kUInt32));
static_assert(BERTH_INT64 == static_cast<int>(berth::DType::kInt64));
static_assert(BERTH_UINT64 == static_cast<int>(berth::DType::kUInt64));
static_assert(BERTH_BOOL == static_cast<int>(berth::DType::kBool));
static_assert(BERTH_LOG_OFF == static_cast<int>(berth::LogLevel::kOff));
static_assert(BERTH_LOG_ERROR == static_cast<int>(berth::LogLevel::kError));
static_assert(BERTH_LOG_WARNING == static_cast<int>(berth::LogLevel::kWarning));
static_assert(BERTH_LOG_INFO == static_cast<int>(berth::LogLevel::kInfo));
static_assert(BERTH_LOG_DEBUG == static_cast<int>(berth::LogLevel::kDebug));
static_assert(BERTH_LOAD_FULL == static_cast<int>(berth::LoadLevel::kFull));
static_assert(BERTH_LOAD_TRUSTED == static_cast<int>(berth::LoadLevel::kTrusted));
static_assert(BERTH_RUN_VALUES == static_cast<int>(berth::RunMode::kValues));
static_assert(BERTH_RUN_CYCLES == static_cast<int>(berth::RunMode::kCycles));
static_assert(BERTH_RUN_BOTH == static_cast<int>(berth::RunMode::kBoth));

extern "C" {

uint32_t berth_abi_version(void) { return BERTH_ABI_VERSION; }

const char* berth_version(void) { return BERTH_VERSION; }

const char* berth_last_error_message(void) { return berth::c_api::LastMessage(); }

const char* berth_status_name(berth_status status) {
  switch (status) {
    case BERTH_OK:
      return "ok";
    case BERTH_CANCELLED:
      return "cancelled";
    case BERTH_INVALID_ARGUMENT:
      return "invalid argument";
    case BERTH_DEADLINE_EXCEEDED:
      return "deadline exceeded";
    case BERTH_NOT_FOUND:
      return "not found";
    case BERTH_RESOURCE_EXHAUSTED:
      return "resource exhausted";
    case BERTH_FAILED_PRECONDITION:
      return "failed precondition";
    case BERTH_UNIMPLEMENTED:
      return "unimplemented";
    case BERTH_INTERNAL:
      return "internal";
    case BERTH_DATA_LOSS:
      return "data loss";
    default:
      return "unknown";
  }
}

}  // extern "C"

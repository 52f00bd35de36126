/* What all of the C API is made of: errors, logging and tensors. Part of berth/berth.h, whose rules
 * hold here. */
#ifndef BERTH_BERTH_TYPES_H_
#define BERTH_BERTH_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BERTH_API __attribute__((visibility("default")))
#else
#define BERTH_API
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

typedef int32_t berth_status;
enum {
  BERTH_OK = 0,
  BERTH_CANCELLED = 1,
  BERTH_UNKNOWN = 2,
  BERTH_INVALID_ARGUMENT = 3, /* the caller or the model is wrong */
  BERTH_DEADLINE_EXCEEDED = 4,
  BERTH_NOT_FOUND = 5,
  BERTH_RESOURCE_EXHAUSTED = 8,  /* memory, or a limit that the caller set */
  BERTH_FAILED_PRECONDITION = 9, /* order of calls, or a file that cannot be read */
  BERTH_UNIMPLEMENTED = 12,
  BERTH_INTERNAL = 13,
  BERTH_DATA_LOSS = 15 /* the bytes of a bundle are wrong */
};

/* Of the last call of this thread that failed; valid until its next one fails. Never NULL. */
BERTH_API const char* berth_last_error_message(void);
/* "invalid argument", ...; never NULL. */
BERTH_API const char* berth_status_name(berth_status status);

/* ---- Logging --------------------------------------------------------------------------------- */

typedef int32_t berth_log_level;
enum {
  BERTH_LOG_OFF = 0,
  BERTH_LOG_ERROR = 1,
  BERTH_LOG_WARNING = 2,
  BERTH_LOG_INFO = 3,
  BERTH_LOG_DEBUG = 4
};

/* Called from any thread that works for the caller, several at once; must return. `message` is
 * valid during the call, and `message_bytes` long. */
typedef void (*berth_log_callback)(void* user, berth_log_level level, const char* message,
                                   size_t message_bytes);

/* Without a callback, or with level BERTH_LOG_OFF, there is silence. */
typedef struct berth_log {
  berth_log_callback callback;
  void* user;
  berth_log_level level; /* this and what is graver */
  int32_t reserved;
} berth_log; /* frozen */

/* ---- Tensors --------------------------------------------------------------------------------- */

typedef int32_t berth_dtype;
enum {
  BERTH_DTYPE_UNDEFINED = 0,
  BERTH_FLOAT32 = 1,
  BERTH_FLOAT16 = 2,
  BERTH_BFLOAT16 = 3,
  BERTH_FLOAT64 = 4,
  BERTH_INT8 = 5,
  BERTH_UINT8 = 6,
  BERTH_INT16 = 7,
  BERTH_UINT16 = 8,
  BERTH_INT32 = 9,
  BERTH_UINT32 = 10,
  BERTH_INT64 = 11,
  BERTH_UINT64 = 12,
  BERTH_BOOL = 13
};
/* Bytes of one element; 0 for what is no dtype. */
BERTH_API size_t berth_dtype_bytes(berth_dtype dtype);
/* "float32", ...; "undefined" for what is no dtype. */
BERTH_API const char* berth_dtype_name(berth_dtype dtype);

/* A tensor in the caller's memory, dense and row-major, aligned for its dtype. As an input it is
 * only read. `dtype` BERTH_DTYPE_UNDEFINED and `extents` NULL stand for what the program declares;
 * `size_bytes` is always compared with what dtype and extents make. */
typedef struct berth_tensor {
  void* data;
  size_t size_bytes;
  const int64_t* extents; /* `rank` of them */
  int32_t rank;
  berth_dtype dtype;
} berth_tensor; /* frozen */

/* What a program says of an input, an output or a state. */
typedef struct berth_tensor_info {
  size_t struct_size;
  const char* name;
  size_t name_bytes;
  const char* description; /* "float32[Nx3xHx640]" */
  berth_dtype dtype;
  int32_t rank;           /* -1: known when it runs */
  const int64_t* extents; /* -1: known when it runs */
  int64_t size_bytes;     /* -1: known when it runs */
} berth_tensor_info;

/* DLPack's (dlpack/dlpack.h). Tensors are taken on the CPU, and read or written in place where they
 * are dense and aligned; others are copied. The caller keeps what it gives. */
struct DLManagedTensor;

#ifdef __cplusplus
}
#endif

#endif /* BERTH_BERTH_TYPES_H_ */

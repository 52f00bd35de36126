/* The C API of the Berth runtime (libberth.so). docs/embedding.md shows it at work.
 *
 * Rules of the whole header:
 *  1. A function that can fail returns a berth_status; BERTH_OK is 0. What went wrong, where and
 *     with which numbers is in berth_last_error_message(), which belongs to the calling thread.
 *     A call that fails leaves what its out parameters point to untouched.
 *  2. Handles are opaque. Whoever gets one from `..._create`, `..._load` or a run releases it once;
 *     releasing NULL does nothing. Order does not matter: what a handle needs it keeps alive.
 *  3. Programs, arena pools, tensor lists and reports may be used by many threads at once. A
 *     context serves one thread at a time, but for berth_context_cancel.
 *  4. Options may be NULL: all defaults. In options, 0 and NULL always mean the default.
 *  5. Structs that begin with `struct_size` grow at their end. The caller sets it to the size that
 *     it was compiled with (berth_..._init does); the library reads and writes no more than that.
 *  6. Strings are UTF-8 and end with a zero; they belong to the handle that they were asked of.
 *  7. No exception leaves the library, and it neither prints nor changes anything of the process.
 *
 * ABI: functions, fields and constants are only ever added, and each addition raises
 * BERTH_ABI_VERSION. A host that was built with an older header runs with a newer library. */
#ifndef BERTH_BERTH_H_
#define BERTH_BERTH_H_

#include <string.h>

#include "berth/berth_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_ABI_VERSION 2u

/* Of the library that runs, to be compared with BERTH_ABI_VERSION: not smaller is compatible. */
BERTH_API uint32_t berth_abi_version(void);
/* "0.1.0". */
BERTH_API const char* berth_version(void);

/* ---- Reports --------------------------------------------------------------------------------- */

typedef struct berth_report berth_report;

typedef struct berth_report_numbers {
  size_t struct_size;
  int64_t makespan_cycles;
  int64_t macs;
  int64_t command_count;
  int64_t dram_read_bytes, dram_write_bytes;
  int64_t scratchpad_read_bytes, scratchpad_write_bytes;
  int64_t energy_picojoules;
  double matrix_utilization; /* 0..1 of the array's full rate over the makespan */
} berth_report_numbers;

BERTH_API berth_status berth_report_get(const berth_report* report, berth_report_numbers* numbers);
/* One JSON object with the stable keys of docs/embedding.md; belongs to the report. */
BERTH_API berth_status berth_report_json(const berth_report* report, const char** json,
                                         size_t* json_bytes);
BERTH_API void berth_report_release(berth_report* report);

/* ---- Programs -------------------------------------------------------------------------------- */

/* A loaded bundle: immutable, and shared by all threads and contexts. */
typedef struct berth_program berth_program;

/* How graphs of known shapes become programs: from berth_planner_lowering() of libberth_planner.so
 * (berth/berth_planner.h), of the same build. */
typedef struct berth_lowering berth_lowering;

typedef int32_t berth_load_level;
enum {
  BERTH_LOAD_FULL = 0,   /* every hash and the whole proof */
  BERTH_LOAD_TRUSTED = 1 /* hash of the metadata and structure: for a file verified before */
};

typedef struct berth_load_options {
  size_t struct_size;
  berth_load_level level;
  /* berth_program_load_memory: the caller keeps the bytes, unchanged, until the program and all of
   * its contexts are gone. Else they are copied. */
  int32_t borrow_memory;
  /* Dynamic bundles alone, which need it. */
  const berth_lowering* lowering;
  int32_t plan_after_runs; /* plan a shape in the background once it came so often; 0: never */
  int32_t reserved;
  int64_t cache_bytes;      /* of programs of shapes seen before; 0: 256 MiB */
  int64_t pool_limit_bytes; /* of the dynamic pool; 0: no limit */
  int64_t step_limit;       /* programs, host ops and loop iterations of one run; 0: 1000000 */
  berth_log log;            /* of this program and its contexts */
} berth_load_options;

BERTH_API berth_status berth_program_load(const char* path, const berth_load_options* options,
                                          berth_program** program);
BERTH_API berth_status berth_program_load_memory(const void* bytes, size_t size_bytes,
                                                 const berth_load_options* options,
                                                 berth_program** program);
BERTH_API void berth_program_release(berth_program* program);

BERTH_API size_t berth_program_input_count(const berth_program* program);
BERTH_API size_t berth_program_output_count(const berth_program* program);
BERTH_API size_t berth_program_state_count(const berth_program* program);
BERTH_API berth_status berth_program_input(const berth_program* program, size_t position,
                                           berth_tensor_info* info);
BERTH_API berth_status berth_program_output(const berth_program* program, size_t position,
                                            berth_tensor_info* info);
BERTH_API berth_status berth_program_state(const berth_program* program, size_t position,
                                           berth_tensor_info* info);
/* 1 where shapes are known only when it runs. */
BERTH_API int32_t berth_program_is_dynamic(const berth_program* program);

/* What a context will need. */
typedef struct berth_memory {
  size_t struct_size;
  int64_t constants_bytes; /* once a program, mapped from the bundle */
  int64_t arena_bytes;     /* of each context of one thread: the following, aligned, and some */
  int64_t pool_bytes;      /* the DRAM pool; a dynamic program's is beside the arena */
  int64_t scratchpad_bytes;
  int64_t accumulator_bytes;
  int64_t state_bytes; /* each state twice: before and after a run */
} berth_memory;

BERTH_API berth_status berth_program_memory(const berth_program* program, berth_memory* memory);
/* What a context with so many threads leases of an arena pool; 0 for no program. */
BERTH_API int64_t berth_program_arena_bytes(const berth_program* program, int32_t threads);

/* Cycles of a static program: no context, no values. */
BERTH_API berth_status berth_program_simulate(const berth_program* program, berth_report** report);

typedef struct berth_dynamic_statistics {
  size_t struct_size;
  int64_t specializations; /* programs made so far */
  int64_t reused;          /* runs of one that was there */
  int64_t evicted;
  int64_t planned; /* replaced by a plan of the background */
  int64_t cached, cached_bytes;
  int64_t pool_peak_bytes, pool_reserved_bytes;
} berth_dynamic_statistics;

/* Zeros for a static program. */
BERTH_API berth_status berth_program_dynamic_statistics(const berth_program* program,
                                                        berth_dynamic_statistics* statistics);

/* ---- Arena pools ----------------------------------------------------------------------------- */

/* The memory of running requests; contexts lease from it and give back. */
typedef struct berth_arena_pool berth_arena_pool;

typedef struct berth_arena_pool_options {
  size_t struct_size;
  int64_t limit_bytes;      /* of all arenas together; 0: no limit */
  int64_t idle_limit_bytes; /* arenas given back beyond this are freed; 0: all are kept, -1: none */
  int64_t idle_limit_ms;    /* arenas that nobody used for so long are freed; 0: none */
  int32_t fail_at_limit;    /* 0: wait in turn for memory; 1: BERTH_RESOURCE_EXHAUSTED at once */
  int32_t reserved;
} berth_arena_pool_options;

typedef struct berth_arena_pool_statistics {
  size_t struct_size;
  int64_t leased_bytes, idle_bytes, peak_bytes;
  int64_t leases, reuses;
  int64_t waits, waiting; /* leases that had to wait, and those that do now */
  int64_t wait_ns;        /* of all waits that are over */
  int64_t refused;        /* BERTH_RESOURCE_EXHAUSTED */
  int64_t stopped;        /* waits that a cancel or a timeout ended */
  int64_t trimmed_bytes;  /* freed while the pool lived */
} berth_arena_pool_statistics;

BERTH_API berth_status berth_arena_pool_create(const berth_arena_pool_options* options,
                                               berth_arena_pool** pool);
BERTH_API void berth_arena_pool_release(berth_arena_pool* pool);
/* Frees idle arenas until at most `keep_bytes` of them are left. */
BERTH_API berth_status berth_arena_pool_trim(berth_arena_pool* pool, int64_t keep_bytes);
BERTH_API berth_status berth_arena_pool_get_statistics(const berth_arena_pool* pool,
                                                       berth_arena_pool_statistics* statistics);

/* ---- Workers --------------------------------------------------------------------------------- */

/* The threads of contexts that have more than one, and of runs in the background. Without any a
 * context has workers of its own. Since version 2. */
typedef struct berth_workers berth_workers;

/* For many contexts together: no more than `threads` of the library's work for them at once. They
 * are oneTBB's, which start as they are needed. 1..1024; more than the machine has are not used. */
BERTH_API berth_status berth_workers_create(int32_t threads, berth_workers** workers);
/* The host's own: a `tbb::task_arena*` of a host that uses the same shared oneTBB (libtbb.so.12).
 * It is borrowed, and outlives these workers and all contexts that have them. */
BERTH_API berth_status berth_workers_borrow(void* task_arena, berth_workers** workers);
BERTH_API void berth_workers_release(berth_workers* workers);

/* ---- Contexts -------------------------------------------------------------------------------- */

/* One request at a time over a shared program, and the states that it keeps from run to run. */
typedef struct berth_context berth_context;

typedef int32_t berth_arena_use;
enum {
  BERTH_ARENA_HELD = 0,         /* from the creation of a context to its end */
  BERTH_ARENA_WHILE_RUNNING = 1 /* for each run: few arenas serve many contexts */
};

typedef struct berth_context_options {
  size_t struct_size;
  int32_t threads;           /* workers for values; 0 and 1: on the calling thread */
  int32_t poison_before_run; /* 1: fill all memory with NaNs first, for tests */
  berth_arena_use arena_use;
  int32_t reserved;
  int64_t create_timeout_ns; /* where the pool lets the creation wait; 0: for ever */
  /* Since version 2: who helps where `threads` is more than 1, and runs in the background; NULL:
   * workers of the context's own. */
  const berth_workers* workers;
} berth_context_options;

/* Leases an arena; with a pool that waits, this may wait. */
BERTH_API berth_status berth_context_create(berth_program* program, berth_arena_pool* pool,
                                            const berth_context_options* options,
                                            berth_context** context);
/* Cancels a run in the background and waits for it and its callback; in that callback it may be
 * called, too. */
BERTH_API void berth_context_release(berth_context* context);

typedef int32_t berth_run_mode;
enum {
  BERTH_RUN_VALUES = 0,
  BERTH_RUN_CYCLES = 1, /* of a static program: no inputs or outputs needed */
  BERTH_RUN_BOTH = 2
};

typedef struct berth_run_options {
  size_t struct_size;
  berth_run_mode mode;
  int32_t reserved;
  int64_t timeout_ns; /* from now; 0: none */
} berth_run_options;

/* Inputs and outputs in the program's order. Outputs may overlap neither each other nor an input.
 * `report` is filled by runs for cycles and both, and may be NULL where it is not wanted. A run
 * that does not succeed leaves the states as they were and the outputs undefined. */
BERTH_API berth_status berth_context_run(berth_context* context, const berth_tensor* inputs,
                                         size_t input_count, const berth_tensor* outputs,
                                         size_t output_count, const berth_run_options* options,
                                         berth_report** report);
BERTH_API berth_status berth_context_run_dlpack(
    berth_context* context, struct DLManagedTensor* const* inputs, size_t input_count,
    struct DLManagedTensor* const* outputs, size_t output_count, const berth_run_options* options,
    berth_report** report);

/* Told how a run in the background ended, from a thread of the library; must return. `report` is
 * the callback's to release, and NULL after a failure or a run for values. */
typedef void (*berth_run_callback)(void* user, berth_status status, const char* message,
                                   berth_report* report);

/* The same in the background. An error: nothing was begun, and `done` is never called. BERTH_OK:
 * `done` is called exactly once, after all outputs are final; the bytes of inputs and outputs are
 * the caller's and live until then, the arrays of tensors only until this returns. The next run may
 * begin inside `done`. */
BERTH_API berth_status berth_context_run_async(berth_context* context, const berth_tensor* inputs,
                                               size_t input_count, const berth_tensor* outputs,
                                               size_t output_count,
                                               const berth_run_options* options,
                                               berth_run_callback done, void* user);

/* Tensors that a run made: for outputs whose shapes are not known before. */
typedef struct berth_tensor_list berth_tensor_list;

BERTH_API berth_status berth_context_run_alloc(berth_context* context, const berth_tensor* inputs,
                                               size_t input_count, const berth_run_options* options,
                                               berth_tensor_list** outputs, berth_report** report);
/* Told how such a run in the background ended, as berth_run_callback. `outputs` is the callback's
 * to keep and release, and NULL after a failure. */
typedef void (*berth_run_alloc_callback)(void* user, berth_status status, const char* message,
                                         berth_tensor_list* outputs, berth_report* report);
/* berth_context_run_async into tensors that the run makes. Since version 2. */
BERTH_API berth_status berth_context_run_alloc_async(berth_context* context,
                                                     const berth_tensor* inputs, size_t input_count,
                                                     const berth_run_options* options,
                                                     berth_run_alloc_callback done, void* user);
BERTH_API size_t berth_tensor_list_count(const berth_tensor_list* list);
/* Into memory of the list. */
BERTH_API berth_status berth_tensor_list_get(const berth_tensor_list* list, size_t position,
                                             berth_tensor* tensor);
/* Shares the list's memory, and keeps it until its deleter is called. */
BERTH_API berth_status berth_tensor_list_to_dlpack(const berth_tensor_list* list, size_t position,
                                                   struct DLManagedTensor** tensor);
BERTH_API void berth_tensor_list_release(berth_tensor_list* list);

/* From any thread: stops the run in progress, or the next one where there is none. */
BERTH_API berth_status berth_context_cancel(berth_context* context);

/* States between two runs, by position among the program's. */
BERTH_API berth_status berth_context_reset_states(berth_context* context);
/* Into memory of the context, valid until the next call for it. */
BERTH_API berth_status berth_context_get_state(berth_context* context, size_t position,
                                               berth_tensor* value);
BERTH_API berth_status berth_context_set_state(berth_context* context, size_t position,
                                               const berth_tensor* value);

/* ---- Structs with their size and defaults ---------------------------------------------------- */

#define BERTH_DEFINE_INIT_(type)         \
  static inline type type##_init(void) { \
    type value;                          \
    memset(&value, 0, sizeof value);     \
    value.struct_size = sizeof value;    \
    return value;                        \
  }
/* berth_load_options_init() and so on. */
BERTH_DEFINE_INIT_(berth_tensor_info)
BERTH_DEFINE_INIT_(berth_report_numbers)
BERTH_DEFINE_INIT_(berth_load_options)
BERTH_DEFINE_INIT_(berth_memory)
BERTH_DEFINE_INIT_(berth_dynamic_statistics)
BERTH_DEFINE_INIT_(berth_arena_pool_options)
BERTH_DEFINE_INIT_(berth_arena_pool_statistics)
BERTH_DEFINE_INIT_(berth_context_options)
BERTH_DEFINE_INIT_(berth_run_options)

#ifdef __cplusplus
}
#endif

#endif /* BERTH_BERTH_H_ */

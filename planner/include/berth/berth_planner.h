/* The C API of Berth's planner (libberth_planner.so): model files become bundles, and dynamic
 * bundles get the lowering that they need to run. The rules of berth/berth.h hold here, too; a host
 * that only runs static bundles needs none of this. */
#ifndef BERTH_BERTH_PLANNER_H_
#define BERTH_BERTH_PLANNER_H_

#include "berth/berth.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_PLANNER_ABI_VERSION 2u

BERTH_API uint32_t berth_planner_abi_version(void);
/* Of the last call of this library by this thread that failed. Never NULL. */
BERTH_API const char* berth_planner_last_error_message(void);

/* For berth_load_options.lowering. Lives as long as the process. */
BERTH_API berth_status berth_planner_lowering(const berth_lowering** lowering);

/* Pins the shape of the input `name`. */
typedef struct berth_named_shape {
  const char* name;
  const int64_t* extents; /* `rank` of them */
  int32_t rank;
  int32_t reserved;
} berth_named_shape; /* frozen */

/* Sizes that the free dimension `name` may take, both ends included. */
typedef struct berth_named_range {
  const char* name;
  int64_t low, high;
} berth_named_range; /* frozen */

/* An output of the model that is an input of its next run; contexts keep it. */
typedef struct berth_named_state {
  const char* input;
  const char* output;
} berth_named_state; /* frozen */

typedef int32_t berth_tflite_states;
enum {
  BERTH_STATES_KEEP = 0,   /* contexts keep the states of a TFLite model */
  BERTH_STATES_EXPOSE = 1, /* they become inputs and outputs */
  BERTH_STATES_FRESH = 2   /* every run begins with their initial values */
};

typedef int32_t berth_compile_stage;
enum {
  BERTH_STAGE_IMPORT = 0,    /* the model is read and checked */
  BERTH_STAGE_GRAPH = 1,     /* passes over the graph */
  BERTH_STAGE_ORDER = 2,     /* the order of ops, and the pool */
  BERTH_STAGE_RESIDENCY = 3, /* the search for what stays on chip */
  BERTH_STAGE_PLACEMENT = 4, /* plans are placed, emitted and timed */
  BERTH_STAGE_PROOF = 5,
  BERTH_STAGE_WRITE = 6
};

/* How far a compilation is. */
typedef struct berth_compile_progress {
  size_t struct_size; /* of the library */
  berth_compile_stage stage;
  int32_t reserved;
  int64_t work_units, work_limit_units;    /* of the search for what stays on chip */
  int64_t timed_plans;                     /* so far */
  int64_t best_cycles, lower_bound_cycles; /* 0: not known yet */
} berth_compile_progress;

/* Called as a stage begins and at each step of the search, from any thread that works for the
 * caller, one at a time. 0 goes on; anything else ends the compilation with BERTH_CANCELLED. A
 * host that is asked to stop elsewhere says so here, the next time. `progress` is valid during the
 * call. */
typedef int32_t (*berth_compile_callback)(void* user, const berth_compile_progress* progress);

typedef struct berth_compile_options {
  size_t struct_size;
  const char* target; /* a preset's name or a .json file; NULL: "mobile" */
  const berth_named_shape* shapes;
  size_t shape_count;
  const berth_named_range* ranges;
  size_t range_count;
  const berth_named_state* states; /* zeros at first */
  size_t state_count;
  berth_dtype
      float_storage; /* BERTH_FLOAT16, BERTH_BFLOAT16: weights and activations at half size */
  berth_tflite_states tflite_states;
  int64_t pool_budget_bytes; /* highest pool; 0: the machine's DRAM */
  int32_t static_only;       /* 1: free shapes are an error, not a dynamic bundle */
  int32_t fast;              /* 1: no search for a good plan */
  berth_log log;
  /* Since version 2. */
  berth_compile_callback progress; /* NULL: nobody asks */
  void* progress_user;
  /* berth_planner_compile_memory: the folder of the model's external data; NULL: it has none. */
  const char* data_folder;
} berth_compile_options;

/* An ONNX or TFLite file; `bundle_path` is written whole or not at all. */
BERTH_API berth_status berth_planner_compile(const char* model_path, const char* bundle_path,
                                             const berth_compile_options* options);

/* The bytes of an ONNX or TFLite file become those of a bundle file, which are aligned so that
 * berth_program_load_memory can borrow them. They belong to the caller, who gives them back with
 * berth_planner_free. Since version 2. */
BERTH_API berth_status berth_planner_compile_memory(const void* model, size_t model_bytes,
                                                    const berth_compile_options* options,
                                                    void** bundle, size_t* bundle_bytes);
/* NULL is nothing to be freed. Since version 2. */
BERTH_API void berth_planner_free(void* bundle);

BERTH_DEFINE_INIT_(berth_compile_options)

#ifdef __cplusplus
}
#endif

#endif /* BERTH_BERTH_PLANNER_H_ */

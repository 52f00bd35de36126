/* A host in C11: what the header promises to one, without any C++. */
#include "tests/runtime/c_api/c_host.h"

#include <stdlib.h>

#include "berth/berth_planner.h"

#define CHECK(condition)                \
  do {                                  \
    if (!(condition)) return __LINE__;  \
  } while (0)

static int run_in(berth_context* context, const berth_program* program) {
  berth_tensor_info input = berth_tensor_info_init();
  berth_tensor_info output = berth_tensor_info_init();
  CHECK(berth_program_input(program, 0, &input) == BERTH_OK);
  CHECK(berth_program_output(program, 0, &output) == BERTH_OK);
  CHECK(input.dtype == BERTH_FLOAT32 && input.rank == 4 && input.size_bytes > 0);

  float* const from = calloc(1, (size_t)input.size_bytes);
  float* const to = calloc(1, (size_t)output.size_bytes);
  CHECK(from != NULL && to != NULL);
  /* The rest of each is as the program declares. */
  const berth_tensor given = {.data = from, .size_bytes = (size_t)input.size_bytes};
  const berth_tensor taken = {.data = to, .size_bytes = (size_t)output.size_bytes};
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_BOTH;
  berth_report* report = NULL;
  CHECK(berth_context_run(context, &given, 1, &taken, 1, &options, &report) == BERTH_OK);

  berth_report_numbers numbers = berth_report_numbers_init();
  CHECK(berth_report_get(report, &numbers) == BERTH_OK);
  CHECK(numbers.makespan_cycles > 0);
  berth_report_release(report);

  CHECK(berth_context_run(context, &given, 0, &taken, 1, NULL, NULL) == BERTH_INVALID_ARGUMENT);
  CHECK(strstr(berth_last_error_message(), "0 inputs given, 1 expected") != NULL);
  free(from);
  free(to);
  return 0;
}

int c_host_run(const char* bundle_path) {
  berth_program* program = NULL;
  berth_arena_pool* pool = NULL;
  berth_context* context = NULL;
  CHECK(berth_abi_version() >= BERTH_ABI_VERSION);
  CHECK(berth_planner_abi_version() >= BERTH_PLANNER_ABI_VERSION);
  CHECK(berth_program_load(bundle_path, NULL, &program) == BERTH_OK);
  CHECK(berth_arena_pool_create(NULL, &pool) == BERTH_OK);
  CHECK(berth_context_create(program, pool, NULL, &context) == BERTH_OK);
  const int failed_line = run_in(context, program);
  /* In any order. */
  berth_program_release(program);
  berth_arena_pool_release(pool);
  berth_context_release(context);
  return failed_line;
}

/* A host that exports names of other versions of what Berth's libraries use (make_conflicts.py):
 * whoever calls one of them aborts. It links libberth.so, loads libberth_planner.so as
 * docs/embedding.md tells such a host to, compiles a model, runs it and provokes errors.
 *
 *     conflicting_host libberth_planner.so MODEL BUNDLE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "berth/berth_planner.h"

static int fail(const char* what, const char* message) {
  fprintf(stderr, "conflicting_host: %s: %s\n", what, message);
  return 1;
}

static int run(const berth_program* program, berth_context* context) {
  berth_tensor_info input = berth_tensor_info_init();
  berth_status status = berth_program_input(program, 0, &input);
  if (status != BERTH_OK) return fail("input", berth_last_error_message());
  berth_tensor from;
  memset(&from, 0, sizeof from);
  from.size_bytes = (size_t)input.size_bytes;
  from.data = calloc(1, from.size_bytes);
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_BOTH;
  berth_tensor_list* outputs = NULL;
  berth_report* report = NULL;
  status = berth_context_run_alloc(context, &from, 1, &options, &outputs, &report);
  if (status != BERTH_OK) return fail("run", berth_last_error_message());
  const char* json = NULL;
  status = berth_report_json(report, &json, NULL);
  if (status != BERTH_OK) return fail("report", berth_last_error_message());
  if (strstr(json, "makespan_cycles") == NULL) return fail("report", json);
  berth_tensor_list_release(outputs);
  berth_report_release(report);
  from.size_bytes -= 1; /* an error has its message formatted */
  status = berth_context_run_alloc(context, &from, 1, NULL, &outputs, NULL);
  if (status != BERTH_INVALID_ARGUMENT || strstr(berth_last_error_message(), "bytes") == NULL) {
    return fail("wrong size", berth_last_error_message());
  }
  free(from.data);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return fail("usage", "PLANNER MODEL BUNDLE");
  void* planner = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (planner == NULL) return fail("dlopen", dlerror());
  berth_status (*compile)(const char*, const char*, const berth_compile_options*) = NULL;
  *(void**)&compile = dlsym(planner, "berth_planner_compile");
  const char* (*planner_message)(void) = NULL;
  *(void**)&planner_message = dlsym(planner, "berth_planner_last_error_message");
  if (compile == NULL || planner_message == NULL) return fail("dlsym", dlerror());
  berth_compile_options options = berth_compile_options_init();
  options.target = "edge";
  if (compile(argv[2], argv[3], &options) != BERTH_OK) return fail("compile", planner_message());

  berth_program* program = NULL;
  berth_arena_pool* pool = NULL;
  berth_context* context = NULL;
  if (berth_program_load(argv[3], NULL, &program) != BERTH_OK ||
      berth_arena_pool_create(NULL, &pool) != BERTH_OK ||
      berth_context_create(program, pool, NULL, &context) != BERTH_OK) {
    return fail("load", berth_last_error_message());
  }
  const int status = run(program, context);
  berth_context_release(context);
  berth_arena_pool_release(pool);
  berth_program_release(program);
  puts(status == 0 ? "conflicting_host: ok" : "conflicting_host: failed");
  return status;
}

/* Plans a model and runs it, in C: run_model_c MODEL.onnx OUT.berth
 * Inputs are zeros; the first value of each output and the simulated cycles are printed. */
#include <berth/berth.h>
#include <berth/berth_planner.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what, const char* message) {
  fprintf(stderr, "run_model: %s: %s\n", what, message);
  return 1;
}

/* Inputs of zeros, in the order of the program. Dtype and shape stay as the program declares. */
static berth_tensor* make_inputs(const berth_program* program, size_t count) {
  berth_tensor* inputs = calloc(count + 1, sizeof *inputs);
  for (size_t i = 0; inputs != NULL && i < count; ++i) {
    berth_tensor_info info = berth_tensor_info_init();
    if (berth_program_input(program, i, &info) != BERTH_OK || info.size_bytes < 0) return NULL;
    printf("input  %s: %s\n", info.name, info.description);
    inputs[i].size_bytes = (size_t)info.size_bytes;
    inputs[i].data = calloc(1, inputs[i].size_bytes + 1);
  }
  return inputs;
}

static void print_outputs(const berth_tensor_list* outputs) {
  for (size_t i = 0; i < berth_tensor_list_count(outputs); ++i) {
    berth_tensor tensor;
    if (berth_tensor_list_get(outputs, i, &tensor) != BERTH_OK) continue;
    printf("output %zu: %s, %zu bytes", i, berth_dtype_name(tensor.dtype), tensor.size_bytes);
    if (tensor.dtype == BERTH_FLOAT32 && tensor.size_bytes > 0) {
      printf(", begins with %g", (double)((const float*)tensor.data)[0]);
    }
    printf("\n");
  }
}

static int run(const berth_program* program, berth_context* context) {
  const size_t count = berth_program_input_count(program);
  berth_tensor* inputs = make_inputs(program, count);
  if (inputs == NULL) return fail("inputs", "of free shape, or no memory");
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_BOTH;
  berth_tensor_list* outputs = NULL;
  berth_report* report = NULL;
  if (berth_context_run_alloc(context, inputs, count, &options, &outputs, &report) != BERTH_OK) {
    return fail("run", berth_last_error_message());
  }
  berth_report_numbers numbers = berth_report_numbers_init();
  berth_report_get(report, &numbers);
  print_outputs(outputs);
  printf("%lld cycles\n", (long long)numbers.makespan_cycles);
  berth_report_release(report);
  berth_tensor_list_release(outputs);
  for (size_t i = 0; i < count; ++i) free(inputs[i].data);
  free(inputs);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage", "run_model_c MODEL.onnx OUT.berth");
  berth_compile_options options = berth_compile_options_init();
  options.target = "mobile";
  if (berth_planner_compile(argv[1], argv[2], &options) != BERTH_OK) {
    return fail("compile", berth_planner_last_error_message());
  }
  berth_program* program = NULL;
  berth_arena_pool* pool = NULL;
  berth_context* context = NULL;
  if (berth_program_load(argv[2], NULL, &program) != BERTH_OK ||
      berth_arena_pool_create(NULL, &pool) != BERTH_OK ||
      berth_context_create(program, pool, NULL, &context) != BERTH_OK) {
    return fail("load", berth_last_error_message());
  }
  const int status = run(program, context);
  berth_context_release(context);
  berth_arena_pool_release(pool);
  berth_program_release(program);
  return status;
}

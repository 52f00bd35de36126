/* Compiles a model and tells its makespan: consumer_c MODEL BUNDLE */
#include <berth/berth.h>
#include <berth/berth_planner.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (berth_planner_compile(argv[1], argv[2], NULL) != BERTH_OK) {
    fprintf(stderr, "%s\n", berth_planner_last_error_message());
    return 1;
  }
  berth_program* program = NULL;
  berth_report* report = NULL;
  berth_report_numbers numbers = berth_report_numbers_init();
  if (berth_program_load(argv[2], NULL, &program) != BERTH_OK ||
      berth_program_simulate(program, &report) != BERTH_OK ||
      berth_report_get(report, &numbers) != BERTH_OK) {
    fprintf(stderr, "%s\n", berth_last_error_message());
    return 1;
  }
  printf("%s: %lld cycles\n", berth_version(), (long long)numbers.makespan_cycles);
  berth_report_release(report);
  berth_program_release(program);
  return numbers.makespan_cycles > 0 ? 0 : 1;
}

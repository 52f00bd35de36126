// The search for a schedule in the line that a person at a terminal sees.
#pragma once

#include <string>

#include "planner/compile.h"
#include "tools/progress.h"

namespace berth {

// "what stays on chip: 43 % of 20.0 M units of work" or
// "7 plans timed, best 1234567 cycles, bound 1100000".
std::string SearchText(const ScheduleProgress& search);

// Has `options.progress` say "what: ..." while a model is compiled; nothing where stderr is not a
// terminal. `progress` must outlive the compilation.
void ShowSearch(const std::string& what, Progress& progress, CompileOptions& options);

}  // namespace berth

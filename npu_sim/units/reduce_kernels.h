// Inner loops of kReduce on dense arrays. Floats are summed in double: its 29 spare bits make the
// order of additions irrelevant for any tile that fits a scratchpad.
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/command.h"

namespace berth {

// kSum .. kSumAbs.
double ReductionIdentity(ReduceFunction function, double);
int64_t ReductionIdentity(ReduceFunction function, int64_t);

// accumulator[i] = accumulator[i] (op) values[i].
void ReduceElements(ReduceFunction function, const float* values, int64_t count,
                    double* accumulator);
void ReduceElements(ReduceFunction function, const double* values, int64_t count,
                    double* accumulator);
void ReduceElements(ReduceFunction function, const int64_t* values, int64_t count,
                    int64_t* accumulator);

// accumulator (op) values[0] (op) values[1] ...; count >= 1.
double ReduceRun(ReduceFunction function, const float* values, int64_t count, double accumulator);
double ReduceRun(ReduceFunction function, const double* values, int64_t count, double accumulator);
int64_t ReduceRun(ReduceFunction function, const int64_t* values, int64_t count,
                  int64_t accumulator);

}  // namespace berth

// Dense inner loops of the matrix unit's output stage.
#pragma once

#include <cstdint>

#include "npu_sim/command.h"

namespace berth {

// rows x columns of float sums: out = activation(sums + bias).
struct FloatOutput {
  const float* sums = nullptr;
  int64_t sums_step = 0;        // elements to the next row
  const float* bias = nullptr;  // of a row; null for none
  float* out = nullptr;
  int64_t out_step = 0;
  int64_t rows = 1, columns = 0;
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;
};
void BiasAndActivate(const FloatOutput& output);

// The same function as the activation.
UnaryFunction FunctionOf(Activation activation);

}  // namespace berth

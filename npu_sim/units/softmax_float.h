// Softmax on dense floats.
#pragma once

#include <cstdint>

namespace berth {

// One row; `target` may be `source`. `logarithm` gives x - max - log(sum).
void SoftmaxRow(const float* source, int64_t count, bool logarithm, float* target);
// In place on `columns` independent columns of `count` values, row after row. columns <= 64.
void SoftmaxColumns(float* block, int64_t count, int64_t columns, bool logarithm);

}  // namespace berth

#include "npu_sim/units/softmax_float.h"

#include <cmath>

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/softmax_float.cc"
#include "hwy/foreach_target.h"
#include "npu_sim/units/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kSoftmaxLanes = 16;

// NaN stays. Without a branch, so that loops become vectors.
HWY_INLINE float Larger(float a, float b) {
  const int take = static_cast<int>(b > a) | static_cast<int>(b != b);
  return take ? b : a;
}

double RowSum(const float* x, int64_t count) {
  double lane[kSoftmaxLanes] = {};
  int64_t i = 0;
  for (; i + kSoftmaxLanes <= count; i += kSoftmaxLanes) {
    for (int64_t k = 0; k < kSoftmaxLanes; ++k) lane[k] += static_cast<double>(x[i + k]);
  }
  for (; i < count; ++i) lane[0] += static_cast<double>(x[i]);
  for (int64_t k = 1; k < kSoftmaxLanes; ++k) lane[0] += lane[k];
  return lane[0];
}

// Sum of exp(x - max) without storing the terms.
double SumOfExponentials(const float* x, int64_t count, float max) {
  constexpr int64_t kBlock = 256;
  float terms[kBlock];
  double sum = 0;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = count - i < kBlock ? count - i : kBlock;
    MapFloats(x + i, terms, static_cast<size_t>(n),
              [max](auto d, auto v) HWY_ATTR { return FullExp(d, hn::Sub(v, hn::Set(d, max))); });
    sum += RowSum(terms, n);
  }
  return sum;
}

void Row(const float* source, int64_t count, bool logarithm, float* target) {
  const auto n = static_cast<size_t>(count);
  const float max = ExtremeOfRun<true>(source, count);
  if (logarithm) {
    const auto shift = static_cast<float>(::log(SumOfExponentials(source, count, max)));
    MapFloats(source, target, n, [max, shift](auto d, auto v) HWY_ATTR {
      return hn::Sub(hn::Sub(v, hn::Set(d, max)), hn::Set(d, shift));
    });
    return;
  }
  MapFloats(source, target, n,
            [max](auto d, auto v) HWY_ATTR { return FullExp(d, hn::Sub(v, hn::Set(d, max))); });
  const auto scale = static_cast<float>(1.0 / RowSum(target, count));
  MapFloats(target, target, n,
            [scale](auto d, auto v) HWY_ATTR { return hn::Mul(v, hn::Set(d, scale)); });
}

void Columns(float* block, int64_t count, int64_t columns, bool logarithm) {
  float max[64], shift[64];
  double sum[64];
  for (int64_t c = 0; c < columns; ++c) max[c] = block[c], sum[c] = 0;
  for (int64_t i = 1; i < count; ++i) {
    for (int64_t c = 0; c < columns; ++c) max[c] = Larger(max[c], block[i * columns + c]);
  }
  for (int64_t i = 0; i < count; ++i) {
    float terms[64];
    float* row = block + i * columns;
    for (int64_t c = 0; c < columns; ++c) row[c] -= max[c];
    MapFloats(row, logarithm ? terms : row, static_cast<size_t>(columns),
              [](auto d, auto v) HWY_ATTR { return FullExp(d, v); });
    const float* exponentials = logarithm ? terms : row;
    for (int64_t c = 0; c < columns; ++c) sum[c] += static_cast<double>(exponentials[c]);
  }
  for (int64_t c = 0; c < columns; ++c) {
    shift[c] = static_cast<float>(logarithm ? ::log(sum[c]) : 1.0 / sum[c]);
  }
  for (int64_t i = 0; i < count; ++i) {
    float* row = block + i * columns;
    for (int64_t c = 0; c < columns; ++c)
      row[c] = logarithm ? row[c] - shift[c] : row[c] * shift[c];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(Row);
HWY_EXPORT(Columns);
}  // namespace

void SoftmaxRow(const float* source, int64_t count, bool logarithm, float* target) {
  HWY_DYNAMIC_DISPATCH(Row)(source, count, logarithm, target);
}
void SoftmaxColumns(float* block, int64_t count, int64_t columns, bool logarithm) {
  HWY_DYNAMIC_DISPATCH(Columns)(block, count, columns, logarithm);
}

}  // namespace berth
#endif  // HWY_ONCE

#include "npu_sim/units/reduce_kernels.h"

#include <limits>

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/reduce_kernels.cc"
#include "hwy/foreach_target.h"
#include "npu_sim/units/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = 16;

// Integers wrap.
template <typename A>
HWY_INLINE A Plus(A a, A b) {
  if constexpr (sizeof(A) == sizeof(int64_t) && A(0.5) == A(0)) {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename A>
HWY_INLINE A Times(A a, A b) {
  if constexpr (sizeof(A) == sizeof(int64_t) && A(0.5) == A(0)) {
    return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Without a branch, so that loops become vectors.
HWY_INLINE bool Take(bool a, bool b) { return static_cast<int>(a) | static_cast<int>(b); }

// NaN stays.
template <ReduceFunction kFunction, typename A>
HWY_INLINE A Step(A sum, A x) {
  switch (kFunction) {
    case ReduceFunction::kSum:
      return Plus(sum, x);
    case ReduceFunction::kMax:
      return Take(x > sum, x != x) ? x : sum;
    case ReduceFunction::kMin:
      return Take(x < sum, x != x) ? x : sum;
    case ReduceFunction::kProd:
      return Times(sum, x);
    case ReduceFunction::kSumSquares:
      return Plus(sum, Times(x, x));
    default:
      return Plus(sum, x < A(0) ? Times(x, A(-1)) : x);
  }
}
// Joins two partial results.
template <ReduceFunction kFunction, typename A>
HWY_INLINE A Join(A a, A b) {
  constexpr bool kIsSum =
      kFunction == ReduceFunction::kSumSquares || kFunction == ReduceFunction::kSumAbs;
  constexpr ReduceFunction kJoin = kIsSum ? ReduceFunction::kSum : kFunction;
  return Step<kJoin>(a, b);
}

template <ReduceFunction kFunction, typename V, typename A>
void Elements(const V* HWY_RESTRICT values, int64_t count, A* HWY_RESTRICT accumulator) {
  for (int64_t i = 0; i < count; ++i) {
    accumulator[i] = Step<kFunction>(accumulator[i], static_cast<A>(values[i]));
  }
}

template <ReduceFunction kFunction, typename V, typename A>
A Run(const V* HWY_RESTRICT values, int64_t count, A accumulator, A identity) {
  A lane[kLanes];
  for (A& l : lane) l = identity;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      lane[k] = Step<kFunction>(lane[k], static_cast<A>(values[i + k]));
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    lane[k] = Step<kFunction>(lane[k], static_cast<A>(values[i]));
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lane[k] = Join<kFunction>(lane[k], lane[k + half]);
  }
  return Join<kFunction>(accumulator, lane[0]);
}

template <typename F>
HWY_INLINE auto WithFunction(ReduceFunction function, F f) {
  switch (function) {
    case ReduceFunction::kSum:
      return f.template operator()<ReduceFunction::kSum>();
    case ReduceFunction::kMax:
      return f.template operator()<ReduceFunction::kMax>();
    case ReduceFunction::kMin:
      return f.template operator()<ReduceFunction::kMin>();
    case ReduceFunction::kProd:
      return f.template operator()<ReduceFunction::kProd>();
    case ReduceFunction::kSumSquares:
      return f.template operator()<ReduceFunction::kSumSquares>();
    default:
      return f.template operator()<ReduceFunction::kSumAbs>();
  }
}

template <typename V, typename A>
HWY_INLINE void AllElements(ReduceFunction function, const V* values, int64_t count, A* sums) {
  WithFunction(function, [&]<ReduceFunction kFunction>()
                             HWY_ATTR { Elements<kFunction>(values, count, sums); });
}
template <bool kMax>
void FloatExtremes(const float* values, int64_t count, double* best) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::PromoteTo(d, hn::LoadU(narrow, values + i));
    hn::StoreU(Extreme<kMax>(hn::LoadU(d, best + i), x), d, best + i);
  }
  if (kMax) return Elements<ReduceFunction::kMax>(values + i, count - i, best + i);
  Elements<ReduceFunction::kMin>(values + i, count - i, best + i);
}

void FloatElements(ReduceFunction f, const float* v, int64_t n, double* a) {
  if (f == ReduceFunction::kMax) return FloatExtremes<true>(v, n, a);
  if (f == ReduceFunction::kMin) return FloatExtremes<false>(v, n, a);
  AllElements(f, v, n, a);
}
void DoubleElements(ReduceFunction f, const double* v, int64_t n, double* a) {
  AllElements(f, v, n, a);
}
void IntElements(ReduceFunction f, const int64_t* v, int64_t n, int64_t* a) {
  AllElements(f, v, n, a);
}

template <typename V, typename A>
HWY_INLINE A WholeRun(ReduceFunction function, const V* values, int64_t count, A sum, A identity) {
  return WithFunction(function, [&]<ReduceFunction kFunction>() HWY_ATTR {
    return Run<kFunction>(values, count, sum, identity);
  });
}
double FloatRun(ReduceFunction f, const float* v, int64_t n, double a, double identity) {
  if (f == ReduceFunction::kMax)
    return Join<ReduceFunction::kMax>(a, double{ExtremeOfRun<true>(v, n)});
  if (f == ReduceFunction::kMin)
    return Join<ReduceFunction::kMin>(a, double{ExtremeOfRun<false>(v, n)});
  return WholeRun(f, v, n, a, identity);
}
double DoubleRun(ReduceFunction f, const double* v, int64_t n, double a, double identity) {
  return WholeRun(f, v, n, a, identity);
}
int64_t IntRun(ReduceFunction f, const int64_t* v, int64_t n, int64_t a, int64_t identity) {
  return WholeRun(f, v, n, a, identity);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(FloatElements);
HWY_EXPORT(DoubleElements);
HWY_EXPORT(IntElements);
HWY_EXPORT(FloatRun);
HWY_EXPORT(DoubleRun);
HWY_EXPORT(IntRun);
}  // namespace

double ReductionIdentity(ReduceFunction function, double) {
  switch (function) {
    case ReduceFunction::kMax:
      return -std::numeric_limits<double>::infinity();
    case ReduceFunction::kMin:
      return std::numeric_limits<double>::infinity();
    case ReduceFunction::kProd:
      return 1;
    default:
      return 0;
  }
}
int64_t ReductionIdentity(ReduceFunction function, int64_t) {
  switch (function) {
    case ReduceFunction::kMax:
      return std::numeric_limits<int64_t>::min();
    case ReduceFunction::kMin:
      return std::numeric_limits<int64_t>::max();
    case ReduceFunction::kProd:
      return 1;
    default:
      return 0;
  }
}

void ReduceElements(ReduceFunction f, const float* values, int64_t count, double* accumulator) {
  HWY_DYNAMIC_DISPATCH(FloatElements)(f, values, count, accumulator);
}
void ReduceElements(ReduceFunction f, const double* values, int64_t count, double* accumulator) {
  HWY_DYNAMIC_DISPATCH(DoubleElements)(f, values, count, accumulator);
}
void ReduceElements(ReduceFunction f, const int64_t* values, int64_t count, int64_t* accumulator) {
  HWY_DYNAMIC_DISPATCH(IntElements)(f, values, count, accumulator);
}

double ReduceRun(ReduceFunction f, const float* values, int64_t count, double accumulator) {
  return HWY_DYNAMIC_DISPATCH(FloatRun)(f, values, count, accumulator,
                                        ReductionIdentity(f, double{}));
}
double ReduceRun(ReduceFunction f, const double* values, int64_t count, double accumulator) {
  return HWY_DYNAMIC_DISPATCH(DoubleRun)(f, values, count, accumulator,
                                         ReductionIdentity(f, double{}));
}
int64_t ReduceRun(ReduceFunction f, const int64_t* values, int64_t count, int64_t accumulator) {
  return HWY_DYNAMIC_DISPATCH(IntRun)(f, values, count, accumulator,
                                      ReductionIdentity(f, int64_t{}));
}

}  // namespace berth
#endif  // HWY_ONCE

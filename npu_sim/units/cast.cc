// kCast with the conversions of ONNX Cast. Where ONNX leaves the result open (a float beyond an
// integer's range): truncated, saturated to 64 bits and then wrapped to the target's width; NaN
// becomes 0.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/scalar_functions.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

template <typename From, typename To>
To CastValue(From value) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat>) {
    return CastValue<float, To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    if (value < 0) return static_cast<uint64_t>(SaturatingCast<int64_t>(value));
    return SaturatingCast<uint64_t>(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(SaturatingCast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Whether int32 holds every value, and a plain conversion therefore does.
bool FitInt32(const float* values, int64_t count) {
  int fit = 1;
  for (int64_t i = 0; i < count; ++i) {
    fit &=
        static_cast<int>(values[i] > -2147483648.0f) & static_cast<int>(values[i] < 2147483648.0f);
  }
  return fit != 0;
}

template <typename From, typename To>
void CastChunk(std::byte* const* p, int64_t count) {
  To* target = reinterpret_cast<To*>(p[0]);
  const From* source = reinterpret_cast<const From*>(p[1]);
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    if (FitInt32(source, count)) {
      for (int64_t i = 0; i < count; ++i)
        target[i] = static_cast<To>(static_cast<int32_t>(source[i]));
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) target[i] = CastValue<From, To>(source[i]);
}

bool IsShortFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Between float32, float16 and bfloat16.
void CastFloatChunk(DType from, DType to, std::byte* const* p, int64_t count) {
  float values[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    ToFloat(from, p[1] + i * DTypeBytes(from), n, values);
    FromFloat(to, values, n, p[0] + i * DTypeBytes(to));
  }
}

}  // namespace

absl::Status ExecuteCast(const UnitCall& call) {
  const Command& c = call.command;
  const DType from = c.in0.dtype, to = c.out.dtype;
  if (from == to) return ExecuteCopy(call);
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0});
  Normalize(nest);
  if (IsShortFloat(from) && IsShortFloat(to)) {
    WalkChunks(nest, [&](std::byte* const* p, int64_t n) { CastFloatChunk(from, to, p, n); });
    return absl::OkStatus();
  }
  VisitDType(from, [&]<typename From>() {
    VisitDType(to, [&]<typename To>() { WalkChunks(nest, CastChunk<From, To>); });
  });
  return absl::OkStatus();
}

}  // namespace berth

// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: random forms against the reference,
// and every bit of rounding, saturation and zero points against wider arithmetic.
#include <cmath>
#include <limits>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/quantization.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

constexpr DType kQuantized[] = {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16};

Tensor Integers(DType dtype, const Shape& shape, Random& random) {
  const IntegerRange range = RangeOfDType(dtype);
  return RandomTensor(random, dtype, shape, range.least, range.most);
}

Tensor Uniform(DType dtype, const Shape& shape, int64_t value) {
  Tensor tensor(TensorType{dtype, shape});
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (T& element : tensor.Values<T>()) element = static_cast<T>(value);
    }
  });
  return tensor;
}

// Operands 1 and 2 in a random form that ONNX allows.
void AddScales(Random& random, DType dtype, const Shape& data, DType scale_dtype, OpCase& test) {
  const bool per_axis = data.rank() > 0 && Chance(random, 0.5);
  const int64_t axis = per_axis ? RandomInt(random, 0, data.rank() - 1) : 0;
  const Shape shape = per_axis ? Shape{data[static_cast<int>(axis)]} : Shape{};
  test.Attribute("axis", axis);
  const bool known = Chance(random, 0.7);
  const auto add = [&](Tensor tensor) {
    known ? test.Constant(std::move(tensor)) : test.Input(std::move(tensor));
  };
  add(RandomTensor(random, scale_dtype, shape, 0.01, 0.3));
  if (Chance(random, 0.25)) return;
  const IntegerRange range = RangeOfDType(dtype);
  if (Chance(random, 0.5)) {
    add(Integers(dtype, shape, random));
  } else {
    add(Uniform(dtype, shape, RandomInt(random, range.least, range.most)));
  }
}

TEST(Quantize, RandomForms) {
  Random random(20261101);
  SCOPED_TRACE("seed 20261101");
  for (int i = 0; i < 60; ++i) {
    const DType dtype = kQuantized[RandomInt(random, 0, 3)];
    const DType scale = Chance(random, 0.8) ? DType::kFloat32 : DType::kFloat16;
    const Shape shape = RandomShape(random, 0, 4, 12);
    OpCase test(OpKind::kQuantizeLinear, 21);
    const double reach = dtype == DType::kInt8 || dtype == DType::kUInt8 ? 40 : 2000;
    test.Input(RandomTensor(random, scale, shape, -reach, reach));
    AddScales(random, dtype, shape, scale, test);
    if (test.node().inputs.size() == 2) test.Attribute("output_dtype", DTypeToOnnx(dtype));
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << i;
  }
}

TEST(Dequantize, RandomForms) {
  Random random(20261102);
  SCOPED_TRACE("seed 20261102");
  for (int i = 0; i < 60; ++i) {
    const DType dtype = kQuantized[RandomInt(random, 0, 3)];
    const DType scale = Chance(random, 0.8) ? DType::kFloat32 : DType::kFloat16;
    const Shape shape = RandomShape(random, 0, 4, 12);
    OpCase test(OpKind::kDequantizeLinear, 21);
    test.Input(Integers(dtype, shape, random));
    AddScales(random, dtype, shape, scale, test);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << i;
  }
}

// saturate(round_half_even(float32(x / scale)) + zero_point), with the quotient taken in 64 bits of
// mantissa and rounded to float32: more than twice 24 bits, so that rounding twice is rounding
// once.
int64_t ExactQuantized(float x, float scale, int64_t zero_point, const IntegerRange& range) {
  const auto quotient = static_cast<float>(static_cast<long double>(x) / scale);
  const long double below = std::floor(static_cast<long double>(quotient));
  const long double distance = quotient - below;
  const bool is_odd = std::fmod(below, 2.0L) != 0;
  const long double rounded = distance > 0.5L || (distance == 0.5L && is_odd) ? below + 1 : below;
  const long double shifted = rounded + zero_point;
  if (shifted < range.least) return range.least;
  if (shifted > range.most) return range.most;
  return static_cast<int64_t>(shifted);
}

void ExpectExact(DType dtype, float scale, int64_t zero_point, const std::vector<float>& x) {
  OpCase test(OpKind::kQuantizeLinear, 13);
  const Shape shape{static_cast<int64_t>(x.size())};
  test.Input(MakeTensor<float>(DType::kFloat32, shape, x));
  test.Constant(ScalarF32(scale)).Constant(Uniform(dtype, Shape{}, zero_point));
  ASSERT_TRUE(test.Infer().ok());
  const auto outputs = RunOnMachine(test, {.scratchpad_bytes = 1 << 20});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto actual = ToInt64Values((*outputs)[0].view());
  ASSERT_TRUE(actual.ok());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ((*actual)[i], ExactQuantized(x[i], scale, zero_point, RangeOfDType(dtype)))
        << "x " << x[i] << ", scale " << scale << ", zero point " << zero_point;
  }
}

TEST(Quantize, TiesAndSaturationOfBytesExhaustively) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    const IntegerRange range = RangeOfDType(dtype);
    for (const float scale : {1.0f, 0.25f, 0.1f, 3.0f, 1.0f / 3, 0.0078125f}) {
      // Half steps, their neighbours, and far beyond the range.
      std::vector<float> x = {1e30f, -1e30f, 3e38f, -3e38f, 0.0f, -0.0f};
      for (int half = -1100; half <= 1100; ++half) {
        const float value = static_cast<float>(half) * 0.5f * scale;
        x.insert(x.end(), {value, std::nextafter(value, 1e30f), std::nextafter(value, -1e30f)});
      }
      for (const int64_t zero_point : {range.least, range.least + 1, (range.least + range.most) / 2,
                                       range.most - 1, range.most}) {
        ExpectExact(dtype, scale, zero_point, x);
      }
    }
  }
}

TEST(Quantize, RandomOverLargeRanges) {
  Random random(20261103);
  SCOPED_TRACE("seed 20261103");
  for (int i = 0; i < 40; ++i) {
    const DType dtype = kQuantized[RandomInt(random, 0, 3)];
    const IntegerRange range = RangeOfDType(dtype);
    const auto scale =
        static_cast<float>(std::ldexp(1 + 1e-6 * static_cast<double>(RandomInt(random, 0, 999999)),
                                      static_cast<int>(RandomInt(random, -40, 40))));
    std::vector<float> x;
    for (int k = 0; k < 4000; ++k) {
      const auto steps = static_cast<float>(RandomInt(random, -80000, 80000));
      const float part =
          Chance(random, 0.5) ? 0.5f : 1e-3f * static_cast<float>(RandomInt(random, 0, 999));
      x.push_back((steps + part) * scale);
    }
    ExpectExact(dtype, scale, RandomInt(random, range.least, range.most), x);
  }
}

TEST(Dequantize, EveryByteWithEveryZeroPoint) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    const IntegerRange range = RangeOfDType(dtype);
    Tensor all(TensorType{dtype, Shape{256}});
    for (size_t i = 0; i < 256; ++i) all.bytes()[i] = static_cast<std::byte>(i);
    const auto values = *ToInt64Values(all.view());
    for (int64_t zero_point = range.least; zero_point <= range.most; ++zero_point) {
      const float scale = 0.1f + 0.001f * static_cast<float>(zero_point - range.least);
      OpCase test(OpKind::kDequantizeLinear, 13);
      test.Input(all).Constant(ScalarF32(scale)).Constant(Uniform(dtype, Shape{}, zero_point));
      ASSERT_TRUE(test.Infer().ok());
      const auto outputs = RunOnMachine(test, {.scratchpad_bytes = 1 << 20});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      for (size_t i = 0; i < values.size(); ++i) {
        const auto exact =
            static_cast<float>(static_cast<long double>(values[i] - zero_point) * scale);
        ASSERT_EQ((*outputs)[0].Values<float>()[i], exact) << values[i] << ", " << zero_point;
      }
    }
  }
}

TEST(DynamicQuantize, RandomRanges) {
  Random random(20261104);
  SCOPED_TRACE("seed 20261104");
  for (int i = 0; i < 12; ++i) {
    const double low = static_cast<double>(RandomInt(random, -50, 20));
    OpCase test(OpKind::kDynamicQuantizeLinear, 11);
    test.Outputs(3);
    test.Input(RandomTensor(random, DType::kFloat32, RandomShape(random, 1, 3, 20), low,
                            low + static_cast<double>(RandomInt(random, 0, 60))));
    ASSERT_TRUE(MatchesReference(test)) << i;
  }
  OpCase zeros(OpKind::kDynamicQuantizeLinear, 11);
  zeros.Outputs(3).Input(Tensor(TensorType{DType::kFloat32, Shape{7}}));
  EXPECT_TRUE(MatchesReference(zeros));
}

TEST(Quantize, FusesIntoTailsAndReadsBroadcastScales) {
  Random random(20261105);
  OpCase test(OpKind::kAdd);
  const Shape shape{3, 5, 8};
  test.Input(RandomTensor(random, DType::kFloat32, shape, -9, 9));
  test.Input(RandomTensor(random, DType::kFloat32, shape, -9, 9));
  Attributes broadcast;
  broadcast.Set("broadcast", int64_t{1});
  test.Fuse(OpKind::kQuantizeLinear, broadcast,
            {RandomTensor(random, DType::kFloat32, Shape{5, 1}, 0.1, 0.4),
             Uniform(DType::kUInt8, Shape{}, 77)},
            0, true, DType::kUInt8);
  test.Fuse(OpKind::kDequantizeLinear, {}, {ScalarF32(0.3f), Uniform(DType::kUInt8, Shape{}, 77)},
            0, true, DType::kFloat32);
  EXPECT_TRUE(MatchesEverywhere(test, 8 << 10));
}

TEST(ReadScales, OperandsAndFlowsReachTheOpAsFloats) {
  Random random(20261106);
  OpCase test(OpKind::kMul);
  const Shape shape{2, 6, 10};
  test.Input(Integers(DType::kInt8, shape, random));
  test.Input(Integers(DType::kUInt16, Shape{6, 1}, random));
  SetReadScale(test.node().attributes, 0, {0.05f, -3});
  SetReadScale(test.node().attributes, 1, {0.001f, 20000});
  test.Fuse(OpKind::kQuantizeLinear, {}, {ScalarF32(0.5f), Uniform(DType::kInt8, Shape{}, 4)}, 0,
            true, DType::kInt8);
  Attributes reads;
  SetReadScale(reads, 0, {0.5f, 4});
  SetReadScale(reads, 1, {0.25f, 100});
  test.Fuse(OpKind::kSub, reads, {Integers(DType::kUInt8, shape, random)}, 0, false,
            DType::kFloat32);
  EXPECT_TRUE(MatchesEverywhere(test, 8 << 10));
}

// Ops that take their tiles in through the builder, in many tiles and one.
TEST(ReadScales, OpsThatSumAndPool) {
  Random random(20261107);
  SCOPED_TRACE("seed 20261107");
  constexpr OpKind kKinds[] = {OpKind::kAveragePool, OpKind::kLogSoftmax, OpKind::kSoftmax,
                               OpKind::kReduceMean,  OpKind::kReduceSum,  OpKind::kResize};
  for (int i = 0; i < 48; ++i) {
    const OpKind kind = kKinds[i % 6];
    OpCase test(kind, 13);
    test.Layout(DataLayout::kNhwc);
    const Shape shape{2, RandomInt(random, 4, 14), RandomInt(random, 4, 14),
                      RandomInt(random, 1, 40)};
    test.Input(Integers(kQuantized[RandomInt(random, 0, 3)], shape, random));
    if (kind == OpKind::kAveragePool) {
      test.Attribute("kernel_shape", std::vector<int64_t>{3, 3});
      test.Attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
    } else if (kind == OpKind::kReduceMean) {
      test.Attribute("axes", std::vector<int64_t>{1, 2});
    } else if (kind == OpKind::kReduceSum) {
      test.Constant(Int64Tensor({-1}));
    } else if (kind == OpKind::kResize) {
      test.Absent().Constant(MakeTensor<float>(DType::kFloat32, Shape{4}, {1, 1, 2, 2}));
      test.Attribute("mode", std::string("linear"));
    }
    SetReadScale(test.node().attributes, 0, {0.01f, 7});
    ASSERT_TRUE(MatchesEverywhere(test)) << i << " " << OpName(kind);
  }
}

TEST(QuantizeTypes, WhatIsRefused) {
  const Tensor data(TensorType{DType::kFloat32, Shape{4, 6}});
  const auto code = [](OpCase& test) { return test.Infer().code(); };
  OpCase blocked(OpKind::kQuantizeLinear, 21);
  blocked.Input(data).Constant(Tensor(TensorType{DType::kFloat32, Shape{4, 2}}));
  blocked.Attribute("block_size", int64_t{2});  // three blocks, two scales
  EXPECT_EQ(code(blocked), absl::StatusCode::kInvalidArgument);
  OpCase narrow(OpKind::kQuantizeLinear, 21);
  narrow.Input(data).Constant(ScalarF32(1)).Attribute("output_dtype", int64_t{22});  // int4
  EXPECT_EQ(code(narrow), absl::StatusCode::kUnimplemented);
  OpCase count(OpKind::kQuantizeLinear, 13);
  count.Input(data).Constant(Tensor(TensorType{DType::kFloat32, Shape{5}}));
  EXPECT_EQ(code(count), absl::StatusCode::kInvalidArgument);
  OpCase axis(OpKind::kQuantizeLinear, 13);
  axis.Input(data).Constant(Tensor(TensorType{DType::kFloat32, Shape{6}}));
  axis.Attribute("axis", int64_t{2});
  EXPECT_EQ(code(axis), absl::StatusCode::kInvalidArgument);
  OpCase zero_points(OpKind::kDequantizeLinear, 13);
  zero_points.Input(Tensor(TensorType{DType::kInt8, Shape{4, 6}})).Constant(ScalarF32(1));
  zero_points.Constant(Tensor(TensorType{DType::kUInt8, Shape{}}));
  EXPECT_EQ(code(zero_points), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::testing

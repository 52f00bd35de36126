// Products of integers on the machine, bit for bit: convolutions and matrix products in their
// integer form, the operators that expand into them, and the output stage against 128-bit integers.
#include <bit>
#include <cmath>

#include "kernels/ops/quantization.h"
#include "kernels/ops/quantized_product.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

DType AnyByte(Random& random) { return Chance(random, 0.5) ? DType::kInt8 : DType::kUInt8; }

Tensor Integers(Random& random, DType dtype, const Shape& shape) {
  const IntegerRange range = RangeOfDType(dtype);
  return RandomTensor(random, dtype, shape, range.least, range.most);
}
int32_t ValueOf(Random& random, DType dtype) {
  const IntegerRange range = RangeOfDType(dtype);
  return static_cast<int32_t>(RandomInt(random, range.least, range.most));
}
Tensor Bias(Random& random, int64_t channels) {
  return RandomTensor(random, DType::kInt32, Shape{channels}, -5000, 5000);
}

// A random result: int32, a narrow integer with bounds now and then, or float32; bias and factors
// as input 2.
void AddStage(Random& random, int64_t channels, int64_t terms, OpCase& test) {
  constexpr DType kResults[] = {DType::kInt32, DType::kInt8,   DType::kUInt8,
                                DType::kInt16, DType::kUInt16, DType::kFloat32};
  const DType y = kResults[RandomInt(random, 0, 5)];
  QuantizedProduct product;
  product.y_dtype = y;
  if (IsQuantizedDType(y)) {
    product = NarrowProduct(y, ValueOf(random, y));
    if (Chance(random, 0.4)) {
      product.y_least = ValueOf(random, y);
      product.y_most = std::max(product.y_least, ValueOf(random, y));
    }
  }
  product.x_zero_point = ValueOf(random, test.graph().at(test.node().inputs[0]).type.dtype);
  product.w_zero_point = ValueOf(random, test.graph().at(test.node().inputs[1]).type.dtype);
  std::vector<float> factors;
  const float scale = 0.02f / std::sqrt(static_cast<float>(terms));
  for (int64_t c = 0; c < channels; ++c) {
    factors.push_back(scale * (0.5f + 0.01f * static_cast<float>(RandomInt(random, 0, 99))));
  }
  if (Chance(random, 0.4)) factors.assign(factors.size(), factors[0]);
  std::vector<int32_t> bias;
  if (Chance(random, 0.7)) {
    const Tensor values = Bias(random, channels);
    bias.assign(values.Values<int32_t>().begin(), values.Values<int32_t>().end());
  }
  if (y == DType::kInt32) factors.assign(factors.size(), 1.0f);
  ChannelStage stage = PackChannels(bias, factors, channels);
  product.factor = stage.factor;
  SetQuantizedProduct(test.node().attributes, product);
  if (stage.bias.dtype() != DType::kUndefined) test.Constant(std::move(stage.bias));
}

TEST(IntegerProduct, RandomConvolutions) {
  Random random(20261111);
  SCOPED_TRACE("seed 20261111");
  for (int i = 0; i < 60; ++i) {
    const OpKind kind = Chance(random, 0.75) ? OpKind::kConv : OpKind::kConvTranspose;
    const bool depthwise = Chance(random, 0.3);
    const int64_t groups = depthwise ? RandomInt(random, 2, 24) : RandomInt(random, 1, 2);
    const int64_t inputs = depthwise ? 1 : RandomInt(random, 1, 20);
    const int64_t outputs = depthwise ? RandomInt(random, 1, 2) : RandomInt(random, 1, 20);
    const int64_t kernel = RandomInt(random, 1, 3);
    OpCase test(kind, 11);
    test.Layout(DataLayout::kNhwc);
    test.Input(Integers(random, AnyByte(random),
                        Shape{RandomInt(random, 1, 2), RandomInt(random, kernel, 12),
                              RandomInt(random, kernel, 12), groups * inputs}));
    const bool transposed = kind == OpKind::kConvTranspose;
    test.Constant(Integers(random, AnyByte(random),
                           Shape{kernel, kernel, transposed ? groups * inputs : inputs,
                                 transposed ? outputs : groups * outputs}));
    const int64_t pad = RandomInt(random, 0, kernel - 1);
    const std::vector<int64_t> pads = {pad, RandomInt(random, 0, pad), pad, pad};
    test.Attribute("pads", pads).Attribute("group", groups);
    const int64_t stride = RandomInt(random, 1, 2);
    test.Attribute("strides", std::vector<int64_t>{stride, stride});
    AddStage(random, groups * outputs, inputs * kernel * kernel, test);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << i;
  }
}

TEST(IntegerProduct, RandomMatrices) {
  Random random(20261112);
  SCOPED_TRACE("seed 20261112");
  for (int i = 0; i < 60; ++i) {
    const int64_t rows = RandomInt(random, 1, 40), inner = RandomInt(random, 1, 60);
    const int64_t columns = RandomInt(random, 1, 50), batch = RandomInt(random, 1, 3);
    const bool trans_b = Chance(random, 0.3);
    OpCase test(OpKind::kMatMul);
    test.Input(Integers(random, Chance(random, 0.85) ? AnyByte(random) : DType::kInt16,
                        Chance(random, 0.5) ? Shape{batch, rows, inner} : Shape{rows, inner}));
    const Shape b = trans_b ? Shape{columns, inner} : Shape{inner, columns};
    Tensor weights = Integers(random, AnyByte(random), b);
    Chance(random, 0.5) ? test.Input(std::move(weights)) : test.Constant(std::move(weights));
    test.Attribute("transB", int64_t{trans_b ? 1 : 0});
    AddStage(random, columns, inner, test);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << i;
  }
}

// Zero points, known or not; per row of A and column of B.
void AddZeroPoint(Random& random, DType dtype, int64_t extent, OpCase& test) {
  const Shape shape = Chance(random, 0.3) ? Shape{extent} : Shape{};
  Tensor tensor = Integers(random, dtype, shape);
  Chance(random, 0.5) ? test.Constant(std::move(tensor)) : test.Input(std::move(tensor));
}

TEST(IntegerProduct, MatMulIntegerInEveryForm) {
  Random random(20261113);
  SCOPED_TRACE("seed 20261113");
  for (int i = 0; i < 50; ++i) {
    const int64_t rows = RandomInt(random, 1, 20), inner = RandomInt(random, 1, 30);
    const int64_t columns = RandomInt(random, 1, 20);
    const DType a = AnyByte(random), b = AnyByte(random);
    OpCase test(OpKind::kMatMulInteger, 10);
    test.Input(
        Integers(random, a, Chance(random, 0.5) ? Shape{2, rows, inner} : Shape{rows, inner}));
    Tensor weights = Integers(random, b, Shape{inner, columns});
    Chance(random, 0.6) ? test.Constant(std::move(weights)) : test.Input(std::move(weights));
    if (Chance(random, 0.8)) {
      AddZeroPoint(random, a, rows, test);
      if (Chance(random, 0.8)) AddZeroPoint(random, b, columns, test);
    }
    ASSERT_TRUE(MatchesReference(test)) << i;
  }
}

TEST(IntegerProduct, QLinearMatMulInEveryForm) {
  Random random(20261114);
  SCOPED_TRACE("seed 20261114");
  for (int i = 0; i < 50; ++i) {
    const int64_t rows = RandomInt(random, 1, 20), inner = RandomInt(random, 1, 30);
    const int64_t columns = RandomInt(random, 1, 20);
    const DType a = AnyByte(random), b = AnyByte(random), y = AnyByte(random);
    OpCase test(OpKind::kQLinearMatMul, 10);
    const bool known = Chance(random, 0.5);
    const auto add = [&](Tensor tensor) {
      known ? test.Constant(std::move(tensor)) : test.Input(std::move(tensor));
    };
    test.Input(Integers(random, a, Shape{rows, inner}));
    add(RandomTensor(random, DType::kFloat32, Chance(random, 0.2) ? Shape{rows} : Shape{}, 0.01,
                     0.1));
    AddZeroPoint(random, a, rows, test);
    test.Input(Integers(random, b, Shape{inner, columns}));
    add(RandomTensor(random, DType::kFloat32, Chance(random, 0.5) ? Shape{columns} : Shape{}, 0.01,
                     0.1));
    AddZeroPoint(random, b, columns, test);
    add(RandomTensor(random, DType::kFloat32, Shape{}, 0.5, 2));
    add(Integers(random, y, Shape{}));
    ASSERT_TRUE(MatchesReference(test)) << i;
  }
}

TEST(QLinear, PairsAndUnaryOps) {
  Random random(20261115);
  SCOPED_TRACE("seed 20261115");
  constexpr OpKind kKinds[] = {OpKind::kQLinearAdd, OpKind::kQLinearMul, OpKind::kQLinearSigmoid,
                               OpKind::kQLinearLeakyRelu};
  for (int i = 0; i < 24; ++i) {
    const OpKind kind = kKinds[i % 4];
    const DType dtype = AnyByte(random);
    OpCase test(kind, 21);
    const auto add_scale = [&](double least, double most) {
      test.Constant(RandomTensor(random, DType::kFloat32, Shape{}, least, most));
      test.Constant(Integers(random, dtype, Shape{}));
    };
    const Shape shape{3, RandomInt(random, 1, 20), 7};
    for (int operand = 0; operand < (i % 4 < 2 ? 2 : 1); ++operand) {
      test.Input(Integers(random, dtype, operand == 0 ? shape : Shape{7}));
      add_scale(0.01, 0.1);
    }
    add_scale(0.02, 0.2);
    // The logistic function is approximated: a rounding may flip.
    HarnessOptions options;
    ASSERT_TRUE(MatchesReference(test, options)) << i << " " << OpName(kind);
  }
}

__int128 RoundedToBits(__int128 value, int most_bits) {
  const bool negative = value < 0;
  unsigned __int128 magnitude = static_cast<unsigned __int128>(negative ? -value : value);
  int bits = 0;
  for (unsigned __int128 rest = magnitude; rest != 0; rest >>= 1) ++bits;
  if (bits > most_bits) {
    const int drop = bits - most_bits;
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
    const unsigned __int128 low = magnitude & ((half << 1) - 1);
    magnitude >>= drop;
    if (low > half || (low == half && (magnitude & 1) != 0)) ++magnitude;
    magnitude <<= drop;
  }
  const auto result = static_cast<__int128>(magnitude);
  return negative ? -result : result;
}

// saturate(round_half_even(sum * factor) + zero point), on integers. Sum and product have 24 bits
// for results of 8 bits, else 53. The factor is mantissa * 2^-shift with 0 < mantissa < 2^24.
int64_t ExactStage(int32_t sum, int64_t mantissa, int shift, int32_t zero_point, DType y) {
  const IntegerRange range = RangeOfDType(y);
  const int bits = DTypeBytes(y) == 1 ? 24 : 53;
  const __int128 product = RoundedToBits(RoundedToBits(sum, bits) * mantissa, bits);
  const __int128 unit = static_cast<__int128>(1) << shift;
  __int128 whole = product >= 0 ? product / unit : -((-product + unit - 1) / unit);
  const __int128 rest = product - whole * unit;
  if (2 * rest > unit || (2 * rest == unit && (whole & 1) != 0)) ++whole;
  const __int128 shifted = whole + zero_point;
  if (shifted < range.least) return range.least;
  if (shifted > range.most) return range.most;
  return static_cast<int64_t>(shifted);
}

TEST(OutputStage, AgainstWideIntegers) {
  Random random(20261116);
  SCOPED_TRACE("seed 20261116");
  for (int i = 0; i < 60; ++i) {
    constexpr DType kResults[] = {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16};
    const DType y = kResults[RandomInt(random, 0, 3)];
    const int64_t channels = RandomInt(random, 1, 300);
    // One term of x times w, 0 with a bias of any size: the sum is the bias.
    OpCase test(OpKind::kMatMul);
    test.Input(Tensor(TensorType{DType::kInt8, Shape{2, 1}}));
    test.Constant(Tensor(TensorType{DType::kInt8, Shape{1, channels}}));
    std::vector<int32_t> bias;
    std::vector<float> factors;
    std::vector<std::pair<int64_t, int>> exact;
    const bool per_channel = Chance(random, 0.5);
    for (int64_t c = 0; c < channels; ++c) {
      if (c == 0 || per_channel) {
        // Powers of two and their multiples by 3 and 5 make ties.
        const int64_t mantissa = Chance(random, 0.5) ? RandomInt(random, 1, 5)
                                                     : RandomInt(random, 1 << 20, (1 << 24) - 1);
        exact.emplace_back(mantissa, static_cast<int>(RandomInt(random, 0, 40)));
      } else {
        exact.push_back(exact[0]);
      }
      factors.push_back(static_cast<float>(
          std::ldexp(static_cast<double>(exact.back().first), -exact.back().second)));
      const int64_t reach = int64_t{1} << RandomInt(random, 3, 31);
      bias.push_back(static_cast<int32_t>(RandomInt(random, -reach, reach - 1)));
    }
    QuantizedProduct product = NarrowProduct(y, ValueOf(random, y));
    ChannelStage stage = PackChannels(bias, factors, channels);
    product.factor = stage.factor;
    SetQuantizedProduct(test.node().attributes, product);
    if (stage.bias.dtype() != DType::kUndefined) test.Constant(std::move(stage.bias));
    ASSERT_TRUE(test.Infer().ok());
    const auto outputs = RunOnMachine(test, {});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const auto actual = *ToInt64Values((*outputs)[0].view());
    for (size_t k = 0; k < actual.size(); ++k) {
      const size_t c = k % static_cast<size_t>(channels);
      ASSERT_EQ(actual[k],
                ExactStage(bias[c], exact[c].first, exact[c].second, product.y_zero_point, y))
          << "sum " << bias[c] << ", factor " << exact[c].first << " / 2^" << exact[c].second;
    }
  }
}

// Every pair of bytes with zero points at both ends and in the middle.
TEST(IntegerProduct, EveryPairOfBytes) {
  for (const DType x : {DType::kInt8, DType::kUInt8}) {
    for (const DType w : {DType::kInt8, DType::kUInt8}) {
      for (const int x_zero : {0, 1, 2}) {
        for (const int w_zero : {0, 1, 2}) {
          const auto pick = [](DType dtype, int which) {
            const IntegerRange range = RangeOfDType(dtype);
            return which == 0   ? range.least
                   : which == 1 ? range.most
                                : (range.least + range.most + 1) / 2;
          };
          QuantizedProduct product;
          product.x_zero_point = pick(x, x_zero);
          product.w_zero_point = pick(w, w_zero);
          Tensor rows(TensorType{x, Shape{256, 1}}), columns(TensorType{w, Shape{1, 256}});
          for (size_t i = 0; i < 256; ++i) {
            rows.bytes()[i] = columns.bytes()[i] = static_cast<std::byte>(i);
          }
          const auto a = *ToInt64Values(rows.view()), b = *ToInt64Values(columns.view());
          OpCase test(OpKind::kMatMul);
          test.Input(rows).Constant(columns);
          SetQuantizedProduct(test.node().attributes, product);
          ASSERT_TRUE(test.Infer().ok());
          const auto outputs = RunOnMachine(test, {.scratchpad_bytes = 1 << 20});
          ASSERT_TRUE(outputs.ok()) << outputs.status();
          for (size_t i = 0; i < 65536; ++i) {
            const int64_t expected =
                (a[i / 256] - product.x_zero_point) * (b[i % 256] - product.w_zero_point);
            ASSERT_EQ((*outputs)[0].Values<int32_t>()[i], expected) << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth::testing

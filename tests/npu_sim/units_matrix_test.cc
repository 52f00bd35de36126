// GEMM, convolution and depthwise convolution against naive loops in double and int64.
#include <cmath>

#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

struct DTypes {
  DType in0, in1, bias, out;
  bool is_float() const { return IsFloat(in0); }
};

constexpr DTypes kAllDTypes[] = {
    {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat32},
    {DType::kFloat16, DType::kFloat16, DType::kFloat16, DType::kFloat16},
    {DType::kBFloat16, DType::kBFloat16, DType::kFloat32, DType::kBFloat16},
    {DType::kFloat32, DType::kFloat16, DType::kFloat32, DType::kFloat32},
    {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kInt8},
    {DType::kInt8, DType::kInt8, DType::kInt32, DType::kInt8},
    {DType::kUInt8, DType::kInt8, DType::kInt32, DType::kUInt8},
    {DType::kUInt8, DType::kUInt8, DType::kInt32, DType::kInt32},
    {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kFloat32},
    {DType::kUInt8, DType::kInt8, DType::kInt32, DType::kInt16},
    {DType::kInt16, DType::kInt8, DType::kInt32, DType::kInt32},
    {DType::kInt32, DType::kInt32, DType::kInt32, DType::kInt64},
};

double Low(DType d) { return IsFloat(d) ? -1 : d == DType::kUInt8 ? 0 : -128; }
double High(DType d) { return IsFloat(d) ? 1 : d == DType::kUInt8 ? 255 : 127; }

class MatrixCase {
 public:
  MatrixCase(uint64_t seed, Opcode opcode) : bench(seed) {
    c.opcode = opcode;
    dtypes = kAllDTypes[bench.Uniform(0, std::size(kAllDTypes) - 1)];
    MatrixParams& p = c.params.matrix;
    p = MatrixParams{};
    if (!dtypes.is_float()) {
      if (bench.Coin()) p.in0_zero_point = static_cast<int32_t>(ZeroPoint(dtypes.in0));
      if (bench.Coin()) p.in1_zero_point = static_cast<int32_t>(ZeroPoint(dtypes.in1));
    }
    if (DTypeBytes(dtypes.out) < 4 && IsInteger(dtypes.out)) {
      p.out_scale = static_cast<float>(bench.Real(0.0001, dtypes.is_float() ? 50 : 0.02));
      p.out_zero_point = static_cast<int32_t>(bench.Uniform(-5, 5));
    }
    p.activation = static_cast<Activation>(bench.Uniform(0, 3));
    p.activation_alpha = p.activation == Activation::kClip ? -20.0f : 0.25f;
    p.activation_beta = 30.0f;
    c.flags = static_cast<uint16_t>((bench.Coin() ? kFlagAccumulate : 0) |
                                    (bench.Uniform(0, 3) > 0 ? kFlagWriteOut : 0));
  }

  int64_t ZeroPoint(DType d) {
    return bench.Uniform(static_cast<int64_t>(Low(d)), static_cast<int64_t>(High(d)));
  }

  void PlaceResult(Extents loops, bool has_bias) {
    for (size_t i = 0; i < 4; ++i) c.extent[i] = static_cast<int32_t>(loops[i]);
    loops[3] = 1;
    result_loops = loops;
    UnitsBench::Layout acc{MemorySpace::kAccumulator, true};
    c.acc = bench.PlaceFilled(dtypes.is_float() ? DType::kFloat32 : DType::kInt32, loops, acc,
                              dtypes.is_float() ? -3 : -3000, dtypes.is_float() ? 3 : 3000);
    if (c.flags & kFlagWriteOut) c.out = bench.Place(dtypes.out, loops, RandomLayout());
    if (has_bias) {
      c.in2 = bench.PlaceFilled(dtypes.bias, {1, 1, loops[2], 1}, RandomLayout(),
                                dtypes.is_float() ? -2 : -2000, dtypes.is_float() ? 2 : 2000);
    }
    for (Operand* o : {&c.out, &c.in2}) o->stride_bytes[3] = 0;
    c.in2.stride_bytes[0] = c.in2.stride_bytes[1] = 0;
    ForEachIndex(loops, [&](int64_t i, int64_t j, int64_t k, int64_t) {
      start.push_back(c.flags & kFlagAccumulate ? bench.Get(c.acc, i, j, k) : 0.0);
    });
  }
  UnitsBench::Layout RandomLayout() { return {MemorySpace::kScratchpad, bench.Coin()}; }

  double Sample(int64_t i, int64_t j, int64_t k, int64_t l) {
    return bench.Get(c.in0, i, j, k, l) - c.params.matrix.in0_zero_point;
  }
  double Weight(int64_t i, int64_t j, int64_t k, int64_t l) {
    return bench.Get(c.in1, i, j, k, l) - c.params.matrix.in1_zero_point;
  }

  // `product(i, j, k, magnitude)` is one sum of products; magnitude gets the sum of magnitudes.
  template <typename F>
  void Check(F product) {
    ASSERT_TRUE(bench.Run(c).ok());
    size_t n = 0;
    ForEachIndex(result_loops, [&](int64_t i, int64_t j, int64_t k, int64_t) {
      double magnitude = std::abs(start[n]);
      const double sum = start[n++] + product(i, j, k, magnitude);
      CheckOne(i, j, k, sum, magnitude);
    });
  }

  void CheckOne(int64_t i, int64_t j, int64_t k, double sum, double magnitude) {
    const double acc = bench.Get(c.acc, i, j, k);
    if (dtypes.is_float()) {
      ASSERT_NEAR(acc, sum, 1e-6 * magnitude + 1e-9);
    } else {  // modulo 2^32
      const auto wrapped = static_cast<int32_t>(static_cast<uint64_t>(static_cast<int64_t>(sum)));
      ASSERT_EQ(static_cast<int64_t>(acc), wrapped) << i << " " << j << " " << k;
    }
    if (c.flags & kFlagWriteOut) CheckOut(i, j, k, acc);
  }

  static double Activate(const MatrixParams& p, double x) {
    switch (p.activation) {
      case Activation::kRelu:
        return std::max(0.0, x);
      case Activation::kClip:
        return std::min<double>(p.activation_beta, std::max<double>(p.activation_alpha, x));
      case Activation::kLeakyRelu:
        return x < 0 ? x * p.activation_alpha : x;
      default:
        return x;
    }
  }

  // The output stage, from the accumulators that the machine holds.
  void CheckOut(int64_t i, int64_t j, int64_t k, double acc) {
    const MatrixParams& p = c.params.matrix;
    const double bias = c.in2.present() ? bench.Get(c.in2, 0, 0, k) : 0;
    const double out = bench.Get(c.out, i, j, k);
    if (dtypes.is_float() && IsFloat(dtypes.out)) {
      const double eps = dtypes.out == DType::kFloat32   ? 1e-6
                         : dtypes.out == DType::kFloat16 ? 1e-3
                                                         : 8e-3;
      const double x = Activate(p, acc + bias);
      ASSERT_NEAR(out, x, eps * (std::abs(acc) + std::abs(bias)) + 1e-7);
      return;
    }
    if (dtypes.is_float()) {
      float x = static_cast<float>(Activate(p, static_cast<float>(acc) + static_cast<float>(bias)));
      if (p.activation == Activation::kLeakyRelu)
        x = Leaky(static_cast<float>(acc) + static_cast<float>(bias));
      CheckNarrow(out, x * p.out_scale);
      return;
    }
    const auto total = static_cast<int32_t>(static_cast<int64_t>(acc + bias));
    if (IsInteger(dtypes.out) && DTypeBytes(dtypes.out) >= 4) {
      ASSERT_EQ(out, std::trunc(Activate(p, total)));
      return;
    }
    const float scaled = static_cast<float>(total) * p.out_scale;
    const float x = p.activation == Activation::kLeakyRelu
                        ? Leaky(scaled)
                        : static_cast<float>(Activate(p, scaled));
    if (IsFloat(dtypes.out)) {
      ASSERT_EQ(out, x);
    } else {
      CheckNarrow(out, x);
    }
  }
  float Leaky(float x) const { return x < 0 ? x * c.params.matrix.activation_alpha : x; }
  void CheckNarrow(double out, float x) {
    const bool is_signed = IsSigned(dtypes.out);
    const double range = std::ldexp(1.0, static_cast<int>(8 * DTypeBytes(dtypes.out)));
    const double low = is_signed ? -range / 2 : 0, high = low + range - 1;
    ASSERT_EQ(out,
              std::clamp(std::nearbyint(static_cast<double>(x)) + c.params.matrix.out_zero_point,
                         low, high));
  }

  UnitsBench bench;
  Command c;
  DTypes dtypes;
  Extents result_loops;
  std::vector<double> start;
};

class Seeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, Gemm) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  MatrixCase t(GetParam(), Opcode::kGemm);
  const bool large = GetParam() % 25 == 0;
  const Extents e = {t.bench.Uniform(1, 3), t.bench.Uniform(1, large ? 300 : 40),
                     t.bench.Uniform(1, large ? 200 : 70), t.bench.Uniform(1, large ? 400 : 90)};
  UnitsBench::Layout a = t.RandomLayout(), b = t.RandomLayout();
  a.broadcast[2] = b.broadcast[1] = true;
  b.broadcast[0] = t.bench.Coin();
  t.c.in0 = t.bench.PlaceFilled(t.dtypes.in0, {e[0], e[1], 1, e[3]}, a, Low(t.dtypes.in0),
                                High(t.dtypes.in0));
  t.c.in1 = t.bench.PlaceFilled(t.dtypes.in1, {e[0], 1, e[2], e[3]}, b, Low(t.dtypes.in1),
                                High(t.dtypes.in1));
  t.PlaceResult(e, t.bench.Coin());
  t.Check([&](int64_t batch, int64_t m, int64_t n, double& magnitude) {
    double sum = 0;
    for (int64_t k = 0; k < e[3]; ++k) {
      const double product = t.Sample(batch, m, 0, k) * t.Weight(batch, 0, n, k);
      sum += product;
      magnitude += std::abs(product);
    }
    return sum;
  });
}

// A window that fits: samples of the input, output extent.
Window RandomWindow(UnitsBench& bench, int64_t max_input, bool may_upsample) {
  Window w;
  const bool point = bench.Uniform(0, 3) == 0;
  auto axis = [&](int16_t& kernel, int16_t& stride, int16_t& dilation, int16_t& pad,
                  int16_t& upsample, int32_t& input) {
    kernel = static_cast<int16_t>(point ? 1 : bench.Uniform(1, 5));
    stride = static_cast<int16_t>(bench.Uniform(1, 3));
    dilation = static_cast<int16_t>(bench.Uniform(0, 2) == 0 ? bench.Uniform(2, 3) : 1);
    pad = static_cast<int16_t>(point ? 0 : bench.Uniform(-1, 3));
    upsample =
        static_cast<int16_t>(may_upsample && bench.Uniform(0, 3) == 0 ? bench.Uniform(2, 3) : 1);
    input = static_cast<int32_t>(bench.Uniform(1, max_input));
  };
  axis(w.kernel_height, w.stride_height, w.dilation_height, w.pad_top, w.upsample_height,
       w.input_height);
  axis(w.kernel_width, w.stride_width, w.dilation_width, w.pad_left, w.upsample_width,
       w.input_width);
  return w;
}

// The sample under a tap, or -1.
int64_t SampleUnder(int64_t o, int64_t k, int64_t stride, int64_t dilation, int64_t pad,
                    int64_t upsample, int64_t input) {
  const int64_t at = o * stride + k * dilation - pad;
  if (at < 0 || at % upsample != 0 || at / upsample >= input) return -1;
  return at / upsample;
}

int64_t RandomOutputs(UnitsBench& bench, int64_t kernel, int64_t stride, int64_t dilation,
                      int64_t pad, int64_t upsample, int64_t input) {
  if (bench.Uniform(0, 3) == 0) return bench.Uniform(1, 9);  // windows beside the input too
  const int64_t span =
      (input - 1) * upsample + 1 + std::max<int64_t>(0, 2 * pad) - (kernel - 1) * dilation;
  return std::max<int64_t>(1, (span - 1) / stride + 1);
}

Extents ConvExtents(UnitsBench& bench, const Window& w, int64_t channels, int64_t in_channels) {
  return {RandomOutputs(bench, w.kernel_height, w.stride_height, w.dilation_height, w.pad_top,
                        w.upsample_height, w.input_height),
          RandomOutputs(bench, w.kernel_width, w.stride_width, w.dilation_width, w.pad_left,
                        w.upsample_width, w.input_width),
          channels, in_channels};
}

template <typename F>
void ForTaps(const Window& w, int64_t row, int64_t column, F f) {
  for (int64_t r = 0; r < w.kernel_height; ++r) {
    for (int64_t s = 0; s < w.kernel_width; ++s) {
      const int64_t y = SampleUnder(row, r, w.stride_height, w.dilation_height, w.pad_top,
                                    w.upsample_height, w.input_height);
      const int64_t x = SampleUnder(column, s, w.stride_width, w.dilation_width, w.pad_left,
                                    w.upsample_width, w.input_width);
      if (y >= 0 && x >= 0) f(r, s, y, x);
    }
  }
}

TEST_P(Seeds, Conv) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  MatrixCase t(GetParam(), Opcode::kConv);
  const bool large = GetParam() % 25 == 0;
  const Window w = RandomWindow(t.bench, large ? 40 : 12, true);
  t.c.params.matrix.window = w;
  const Extents e = ConvExtents(t.bench, w, t.bench.Uniform(1, large ? 140 : 40),
                                t.bench.Coin() ? t.bench.Uniform(1, 4) : t.bench.Uniform(1, 40));
  UnitsBench::Layout in = t.RandomLayout();
  in.broadcast[2] = true;
  t.c.in0 = t.bench.PlaceFilled(t.dtypes.in0, {w.input_height, w.input_width, 1, e[3]}, in,
                                Low(t.dtypes.in0), High(t.dtypes.in0));
  const bool hwio = t.bench.Coin();  // [row, column, in, out], the fast layout
  Extents order = {w.kernel_height, w.kernel_width, e[2], e[3]};
  if (hwio) std::swap(order[2], order[3]);
  t.c.in1 = t.bench.PlaceFilled(t.dtypes.in1, order, t.RandomLayout(), Low(t.dtypes.in1),
                                High(t.dtypes.in1));
  if (hwio) std::swap(t.c.in1.stride_bytes[2], t.c.in1.stride_bytes[3]);
  t.PlaceResult(e, t.bench.Coin());
  t.Check([&](int64_t row, int64_t column, int64_t oc, double& magnitude) {
    double sum = 0;
    ForTaps(w, row, column, [&](int64_t r, int64_t s, int64_t y, int64_t x) {
      for (int64_t ic = 0; ic < e[3]; ++ic) {
        const double product = t.Sample(y, x, 0, ic) * t.Weight(r, s, oc, ic);
        sum += product;
        magnitude += std::abs(product);
      }
    });
    return sum;
  });
}

TEST_P(Seeds, Depthwise) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  MatrixCase t(GetParam(), Opcode::kDepthwise);
  const bool large = GetParam() % 25 == 0;
  const Window w = RandomWindow(t.bench, large ? 60 : 14, true);
  t.c.params.matrix.window = w;
  const Extents e = ConvExtents(t.bench, w, t.bench.Uniform(1, large ? 150 : 50), 1);
  UnitsBench::Layout in = t.RandomLayout();
  in.broadcast[3] = true;
  t.c.in0 = t.bench.PlaceFilled(t.dtypes.in0, {w.input_height, w.input_width, e[2], 1}, in,
                                Low(t.dtypes.in0), High(t.dtypes.in0));
  UnitsBench::Layout weights = t.RandomLayout();
  weights.broadcast[3] = true;
  t.c.in1 = t.bench.PlaceFilled(t.dtypes.in1, {w.kernel_height, w.kernel_width, e[2], 1}, weights,
                                Low(t.dtypes.in1), High(t.dtypes.in1));
  t.PlaceResult(e, t.bench.Coin());
  t.Check([&](int64_t row, int64_t column, int64_t channel, double& magnitude) {
    double sum = 0;
    ForTaps(w, row, column, [&](int64_t r, int64_t s, int64_t y, int64_t x) {
      const double product = t.Sample(y, x, channel, 0) * t.Weight(r, s, channel, 0);
      sum += product;
      magnitude += std::abs(product);
    });
    return sum;
  });
}

INSTANTIATE_TEST_SUITE_P(Random, Seeds, ::testing::Range<uint64_t>(0, 300));

TEST(UnitsMatrix, ByteSumsAreExactAtTheirExtremes) {
  for (const auto& [a, b] : {std::pair{255.0, -128.0}, {255.0, 127.0}}) {
    UnitsBench bench(1);
    Command c;
    c.opcode = Opcode::kGemm;
    c.params.matrix = MatrixParams{};
    const int32_t depth = 2048;
    const int32_t extent[] = {1, 33, 47, depth};
    std::copy_n(extent, 4, c.extent);
    const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
    c.in0 = bench.PlaceFilled(DType::kUInt8, {1, 33, 1, depth}, dense, a, a);
    c.in1 = bench.PlaceFilled(DType::kInt8, {1, 1, 47, depth}, dense, b, b);
    c.acc = bench.Place(DType::kInt32, {1, 33, 47, 1}, {MemorySpace::kAccumulator, true});
    ASSERT_TRUE(bench.Run(c).ok());
    for (int64_t m = 0; m < 33; ++m) {
      for (int64_t n = 0; n < 47; ++n) ASSERT_EQ(bench.Get(c.acc, 0, m, n), a * b * depth);
    }
  }
}

TEST(UnitsMatrix, LargeCommandsAreDividedTheSameWayEveryTime) {
  Command c;
  c.opcode = Opcode::kConv;
  c.params.matrix = MatrixParams{};
  c.params.matrix.window.kernel_height = c.params.matrix.window.kernel_width = 3;
  const int32_t extent[] = {56, 56, 64, 64};
  std::copy_n(extent, 4, c.extent);
  EXPECT_EQ(PartCount(c), 16);
  c.extent[0] = c.extent[1] = 7;
  c.extent[2] = c.extent[3] = 512;
  EXPECT_EQ(PartCount(c), 4);  // by output channels
  c.extent[2] = c.extent[3] = 16;
  EXPECT_EQ(PartCount(c), 1);
  EXPECT_EQ(StepsPerPart(c), 7 * 7 * 9 * 16 * 16);
}

// No part may keep a run that is to stop waiting.
TEST(UnitsMatrix, PartsOfHugeCommandsStaySmall) {
  Command c;
  c.opcode = Opcode::kGemm;
  const int32_t extent[] = {1, 8192, 512, 512};
  std::copy_n(extent, 4, c.extent);
  EXPECT_EQ(PartCount(c), 128);
  EXPECT_EQ(StepsPerPart(c), int64_t{1} << 24);
  c.extent[1] = 4096;  // by rows or columns, of which each part has 64 at least
  c.extent[2] = 2048;
  EXPECT_EQ(PartCount(c), 64);
  c.opcode = Opcode::kUnary;
  c.extent[0] = 1 << 18;
  c.extent[1] = c.extent[2] = 1;
  c.extent[3] = 1 << 14;
  EXPECT_EQ(PartCount(c), 1024);
}

}  // namespace
}  // namespace berth

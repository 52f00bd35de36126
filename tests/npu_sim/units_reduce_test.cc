// kReduce, kSoftmax and kPool against naive loops.
#include <cmath>

#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

class Seeds : public ::testing::TestWithParam<uint64_t> {
 protected:
  Seeds() : bench(GetParam()) {
    c.params.vector = {};
    trace = std::make_unique<::testing::ScopedTrace>(__FILE__, __LINE__,
                                                     ::testing::Message() << "seed " << GetParam());
    const bool large = GetParam() % 20 == 0;
    for (size_t i = 0; i < 4; ++i) {
      e[i] = bench.Uniform(0, 4) == 0 ? 1 : bench.Uniform(1, large ? 40 : 9);
      if (bench.Uniform(0, 30) == 0 && !large) e[i] = bench.Uniform(500, 1100);
      if (i > 0 && e[0] * e[i] > 5000) e[i] = 2;
    }
    SetExtents();
  }
  void SetExtents() {
    for (size_t i = 0; i < 4; ++i) c.extent[i] = static_cast<int32_t>(e[i]);
  }
  UnitsBench::Layout RandomLayout() { return {MemorySpace::kScratchpad, bench.Coin()}; }

  UnitsBench bench;
  Command c;
  Extents e;
  std::unique_ptr<::testing::ScopedTrace> trace;
};

double Reduce(ReduceFunction f, double sum, double x) {
  switch (f) {
    case ReduceFunction::kSum:
      return sum + x;
    case ReduceFunction::kMax:
      return std::max(sum, x);
    case ReduceFunction::kMin:
      return std::min(sum, x);
    case ReduceFunction::kProd:
      return sum * x;
    case ReduceFunction::kSumSquares:
      return sum + x * x;
    default:
      return sum + std::abs(x);
  }
}

TEST_P(Seeds, Reduce) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                               DType::kFloat64, DType::kInt8,    DType::kInt32,   DType::kInt64};
  const DType dtype = kDTypes[bench.Uniform(0, 7)];
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const double epsilon = dtype == DType::kFloat64 ? 1e-12 : narrow ? 1e-2 : 1e-6;
  UnitsBench::Layout out = RandomLayout();
  for (bool& b : out.broadcast) b = bench.Coin();
  for (int f = 0; f <= static_cast<int>(ReduceFunction::kSumAbs); ++f) {
    const auto function = static_cast<ReduceFunction>(f);
    if (dtype == DType::kInt8 && function != ReduceFunction::kMax &&
        function != ReduceFunction::kMin) {
      continue;  // would wrap
    }
    const bool is_product = function == ReduceFunction::kProd;
    c.opcode = Opcode::kReduce;
    c.params.vector.function = static_cast<uint8_t>(f);
    c.params.vector.alpha = 0.25f;
    c.flags = static_cast<uint16_t>((bench.Coin() ? kFlagAccumulate : 0) |
                                    (bench.Coin() && IsFloat(dtype) ? kFlagFinish : 0));
    c.in0 =
        bench.PlaceFilled(dtype, e, RandomLayout(), is_product ? 0.9 : -3, is_product ? 1.1 : 3);
    if (is_product && !IsFloat(dtype)) bench.Fill(c.in0, e, 1, 1);
    c.out = bench.PlaceFilled(dtype, e, out, 1, 2);
    Extents kept = e;
    for (size_t i = 0; i < 4; ++i) {
      if (c.out.stride_bytes[i] == 0) kept[i] = 1;
    }
    std::vector<double> start;
    ForEachIndex(kept, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      start.push_back(bench.Get(c.out, i, j, k, l));
    });
    ASSERT_TRUE(bench.Run(c).ok());
    size_t n = 0;
    ForEachIndex(kept, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const Extents at = {i, j, k, l};
      Extents low = at, count;
      for (size_t d = 0; d < 4; ++d) count[d] = kept[d] == e[d] ? 1 : e[d];
      bool first = !(c.flags & kFlagAccumulate);
      double sum = start[n++], magnitude = std::abs(sum) + 1;
      ForEachIndex(count, [&](int64_t a, int64_t b, int64_t d, int64_t g) {
        const double x = bench.Get(c.in0, low[0] + a, low[1] + b, low[2] + d, low[3] + g);
        magnitude += x * x + std::abs(x);
        const bool identity_zero =
            function != ReduceFunction::kMax && function != ReduceFunction::kMin && !is_product;
        if (first)
          sum = identity_zero ? Reduce(function, 0, x) : x;
        else
          sum = Reduce(function, sum, x);
        first = false;
      });
      if (c.flags & kFlagFinish) sum *= 0.25;
      ASSERT_NEAR(bench.Get(c.out, i, j, k, l), sum,
                  epsilon * (is_product ? std::max(1.0, sum)
                             : narrow   ? std::max(1.0, std::abs(sum))
                                        : magnitude))
          << "function " << f;
    });
  }
}

TEST_P(Seeds, IntegerMeansTruncate) {
  c.opcode = Opcode::kReduce;
  c.params.vector.function = static_cast<uint8_t>(ReduceFunction::kSum);
  c.params.vector.alpha = 1.0f / static_cast<float>(e[3]);
  c.flags = kFlagFinish;
  c.in0 = bench.PlaceFilled(DType::kInt32, e, RandomLayout(), -1000, 1000);
  UnitsBench::Layout out = RandomLayout();
  out.broadcast[3] = true;
  c.out = bench.Place(DType::kInt32, e, out);
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex({e[0], e[1], e[2], 1}, [&](int64_t i, int64_t j, int64_t k, int64_t) {
    int64_t sum = 0;
    for (int64_t l = 0; l < e[3]; ++l) sum += bench.GetInt(c.in0, i, j, k, l);
    ASSERT_EQ(bench.GetInt(c.out, i, j, k), e[3] == 1 ? sum : sum / e[3]);
  });
}

TEST_P(Seeds, ArgMaxAndArgMin) {
  const DType dtype = bench.Coin()   ? DType::kFloat32
                      : bench.Coin() ? DType::kInt8
                                     : DType::kFloat16;
  c.opcode = Opcode::kReduce;
  const bool max = bench.Coin(), last = bench.Coin();
  c.params.vector.function =
      static_cast<uint8_t>(max ? ReduceFunction::kArgMax : ReduceFunction::kArgMin);
  c.flags = last ? kFlagLastIndex : 0;
  c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(), -4, 4);
  if (IsFloat(dtype)) {  // ties
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      StoreValue(dtype, std::nearbyint(bench.Get(c.in0, i, j, k, l)), bench.At(c.in0, i, j, k, l));
    });
  }
  UnitsBench::Layout out = RandomLayout();
  out.broadcast[3] = true;
  c.out = bench.Place(DType::kInt64, e, out);
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex({e[0], e[1], e[2], 1}, [&](int64_t i, int64_t j, int64_t k, int64_t) {
    int64_t best = 0;
    for (int64_t l = 1; l < e[3]; ++l) {
      const double x = bench.Get(c.in0, i, j, k, l), b = bench.Get(c.in0, i, j, k, best);
      if (x == b ? last : max ? x > b : x < b) best = l;
    }
    ASSERT_EQ(bench.GetInt(c.out, i, j, k), best);
  });
}

TEST_P(Seeds, Softmax) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  const DType dtype = kDTypes[bench.Uniform(0, 3)];
  const double epsilon = dtype == DType::kFloat32 ? 1e-6 : dtype == DType::kFloat16 ? 2e-3 : 1e-2;
  const bool logarithm = bench.Coin();
  c.opcode = Opcode::kSoftmax;
  c.params.vector.function = logarithm;
  c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(), -20, 20);
  c.out = bench.Place(dtype, e, RandomLayout());
  std::vector<double> source;
  ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
    source.push_back(bench.Get(c.in0, i, j, k, l));
  });
  if (bench.Coin()) c.out = c.in0;
  ASSERT_TRUE(bench.Run(c).ok());
  size_t row = 0;
  ForEachIndex({e[0], e[1], e[2], 1}, [&](int64_t i, int64_t j, int64_t k, int64_t) {
    const double* x = source.data() + row;
    const auto n = static_cast<size_t>(e[3]);
    row += n;
    const double largest = *std::max_element(x, x + n);
    double sum = 0;
    for (size_t l = 0; l < n; ++l) sum += std::exp(x[l] - largest);
    for (size_t l = 0; l < n; ++l) {
      const double y = logarithm ? x[l] - largest - std::log(sum) : std::exp(x[l] - largest) / sum;
      ASSERT_NEAR(bench.Get(c.out, i, j, k, static_cast<int64_t>(l)), y,
                  epsilon * std::max(1.0, std::abs(y)));
    }
  });
}

TEST_P(Seeds, Pool) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kInt8,
                               DType::kUInt8};
  const DType dtype = kDTypes[bench.Uniform(0, 4)];
  Window w;
  w.kernel_height = static_cast<int16_t>(bench.Uniform(1, 4));
  w.kernel_width = static_cast<int16_t>(bench.Uniform(1, 4));
  w.stride_height = static_cast<int16_t>(bench.Uniform(1, 3));
  w.stride_width = static_cast<int16_t>(bench.Uniform(1, 3));
  w.dilation_width = static_cast<int16_t>(bench.Uniform(1, 2));
  w.pad_top = static_cast<int16_t>(bench.Uniform(-1, w.kernel_height - 1));
  w.pad_left = static_cast<int16_t>(bench.Uniform(-1, w.kernel_width - 1));
  w.input_height = static_cast<int32_t>(bench.Uniform(1, 14));
  w.input_width = static_cast<int32_t>(bench.Uniform(1, 14));
  auto outputs = [](int64_t input, int64_t pad, int64_t stride) {
    return (input + pad) / stride + 1;
  };
  e = {outputs(w.input_height, w.pad_top, w.stride_height),
       outputs(w.input_width, w.pad_left, w.stride_width), bench.Uniform(1, 70), 1};
  SetExtents();
  c.opcode = Opcode::kPool;
  c.params.vector.window = w;
  c.params.vector.alpha = 1.0f / static_cast<float>(w.kernel_height * w.kernel_width);
  const auto zero_point = static_cast<int32_t>(IsFloat(dtype) ? 0 : bench.Uniform(0, 20));
  c.params.vector.zero_point = zero_point;
  UnitsBench::Layout in = RandomLayout();
  in.broadcast[3] = true;
  c.in0 = bench.PlaceFilled(dtype, {w.input_height, w.input_width, e[2], 1}, in,
                            dtype == DType::kInt8 ? -128
                            : IsFloat(dtype)      ? -5
                                                  : 0,
                            dtype == DType::kInt8 ? 127
                            : IsFloat(dtype)      ? 5
                                                  : 255);
  for (int f = 0; f < 3; ++f) {
    const auto function = static_cast<PoolFunction>(f);
    c.params.vector.function = static_cast<uint8_t>(f);
    UnitsBench::Layout layout = RandomLayout();
    layout.broadcast[3] = true;
    c.out = bench.Place(dtype, e, layout);
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t row, int64_t column, int64_t channel, int64_t) {
      double sum = 0, largest = -1e300;
      int count = 0;
      for (int64_t r = 0; r < w.kernel_height; ++r) {
        for (int64_t s = 0; s < w.kernel_width; ++s) {
          const int64_t y = row * w.stride_height + r - w.pad_top;
          const int64_t x = column * w.stride_width + s * w.dilation_width - w.pad_left;
          if (y < 0 || y >= w.input_height || x < 0 || x >= w.input_width) continue;
          const double value = bench.Get(c.in0, y, x, channel);
          sum += value - zero_point;
          largest = std::max(largest, value);
          ++count;
        }
      }
      const double got = bench.Get(c.out, row, column, channel);
      if (function == PoolFunction::kMax) {
        if (count > 0) {
          ASSERT_EQ(got, largest);
        }
        return;
      }
      const float scale = function == PoolFunction::kAverageAll ? c.params.vector.alpha
                          : count > 0                           ? 1.0f / static_cast<float>(count)
                                                                : 0.0f;
      if (IsFloat(dtype)) {
        ASSERT_NEAR(got, sum * scale, dtype == DType::kFloat32 ? 1e-5 : 1e-2);
      } else {
        ASSERT_EQ(got, std::clamp<double>(
                           std::nearbyint(static_cast<float>(sum) * scale) + zero_point,
                           dtype == DType::kInt8 ? -128 : 0, dtype == DType::kInt8 ? 127 : 255));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Seeds, ::testing::Range<uint64_t>(0, 150));

// A sum whose terms cancel shows the accuracy of the order of additions.
TEST(UnitsReduce, LongFloatSumsKeepTheirDigits) {
  UnitsBench bench(7);
  Command c;
  c.opcode = Opcode::kReduce;
  c.params.vector = {};
  const Extents e = {1, 1, 1, 200000};
  c.extent[3] = 200000;
  const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
  c.in0 = bench.PlaceFilled(DType::kFloat32, e, dense, 0.5, 1.5);
  c.out = bench.Place(DType::kFloat32, {1, 1, 1, 1},
                      {MemorySpace::kScratchpad, true, {true, true, true, true}});
  ASSERT_TRUE(bench.Run(c).ok());
  double sum = 0;
  for (int64_t i = 0; i < e[3]; ++i) sum += bench.Get(c.in0, 0, 0, 0, i);
  EXPECT_NEAR(bench.Get(c.out, 0), sum, 1e-7 * sum);
}

}  // namespace
}  // namespace berth

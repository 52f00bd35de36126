// Requests of random shapes from several threads on one program: right results against loops
// written out here, a bounded pool and figures that add up.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

constexpr int kThreads = 4, kRequestsPerThread = 250;
constexpr int64_t kPlanes = 3, kFilters = 4, kClasses = 5;
constexpr int64_t kLongestSide = 7, kLargestBatch = 2;

// The filter and the matrix of DynamicNetwork.
float FilterAt(int64_t i) { return 0.1f * static_cast<float>(i % 7) - 0.3f; }
float MatrixAt(int64_t i) { return 0.2f * static_cast<float>(i % 5) - 0.4f; }

// One element of the convolution: 3 x 3, zeros around the image.
float ConvolveAt(absl::Span<const float> image, int64_t height, int64_t width, int64_t filter,
                 int64_t y, int64_t x) {
  float sum = 0;
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t row = y + tap / 3 - 1, column = x + tap % 3 - 1;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      sum += FilterAt((filter * kPlanes + plane) * 9 + tap) *
             image[static_cast<size_t>((plane * height + row) * width + column)];
    }
  }
  return sum;
}

// Scores of one image.
std::vector<float> ScoresOf(absl::Span<const float> image, int64_t height, int64_t width) {
  std::vector<float> scores(kClasses);
  for (int64_t filter = 0; filter < kFilters; ++filter) {
    float mean = 0;
    for (int64_t i = 0; i < height * width; ++i) {
      mean += std::max(0.0f, ConvolveAt(image, height, width, filter, i / width, i % width));
    }
    mean /= static_cast<float>(height * width);
    for (int64_t k = 0; k < kClasses; ++k) {
      scores[static_cast<size_t>(k)] += mean * MatrixAt(filter * kClasses + k);
    }
  }
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score);
  for (float& score : scores) score /= sum;
  return scores;
}

bool IsRight(const Tensor& images, const Tensor& scores) {
  const Shape& shape = images.shape();
  if (scores.type() != TensorType{DType::kFloat32, {shape[0], kClasses}}) return false;
  const auto values = images.Values<float>(), actual = scores.Values<float>();
  const auto image_elements = static_cast<size_t>(shape.ElementCount() / shape[0]);
  for (size_t i = 0; i < actual.size(); i += kClasses) {
    const std::vector<float> wanted =
        ScoresOf(values.subspan(i / kClasses * image_elements, image_elements), shape[2], shape[3]);
    for (size_t k = 0; k < kClasses; ++k) {
      if (!(std::abs(actual[i + k] - wanted[k]) < 1e-4f)) return false;
    }
  }
  return true;
}

// Requests that failed or gave something else, of a context of its own.
int CountWrong(const std::shared_ptr<const Program>& program, ArenaPool& pool, uint64_t seed) {
  const auto context = ContextOf(program, pool);
  std::mt19937_64 random(seed);
  const auto up_to = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  int wrong = 0;
  for (int i = 0; i < kRequestsPerThread; ++i) {
    const Tensor images = UniformTensor(
        {up_to(kLargestBatch), kPlanes, up_to(kLongestSide), up_to(kLongestSide)}, random());
    std::vector<Tensor> outputs;
    const bool is_right =
        context->Run({images.view()}, outputs).ok() && IsRight(images, outputs[0]);
    wrong += is_right ? 0 : 1;
  }
  return wrong;
}

TEST(DynamicRequests, RandomShapesFromManyThreads) {
  DynamicOptions options = TestDynamicOptions();
  options.cache_bytes = 1 << 20;  // less than all shapes take
  const auto program = MakeDynamicProgram(DynamicNetwork(/*free_image=*/true), options);
  ASSERT_NE(program, nullptr);
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  ArenaPool pool;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { wrong += CountWrong(program, pool, seed + t); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  const DynamicStatistics statistics = program->dynamic_statistics();
  EXPECT_EQ(statistics.specializations + statistics.reused, kThreads * kRequestsPerThread);
  EXPECT_EQ(statistics.cached, statistics.specializations - statistics.evicted);
  EXPECT_GT(statistics.reused, 0);
  EXPECT_LE(statistics.cached_bytes, options.cache_bytes);
  // Four runs at a time of a few KiB each, in a slab for each of the pool's lanes.
  EXPECT_LE(statistics.pool_peak_bytes, 1 << 20);
  EXPECT_LE(statistics.pool_reserved_bytes, 8 << 20);
}

}  // namespace
}  // namespace berth

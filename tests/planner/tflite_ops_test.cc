// Operators that move, combine or reduce elements.
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

std::vector<float> Counting(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

struct SliceCase {
  std::vector<int32_t> begin, end, stride;
  int begin_mask = 0, end_mask = 0, ellipsis = 0, new_axis = 0, shrink = 0;
  Shape shape;
  std::vector<float> expected;
};

TEST(TfliteOps, StridedSliceWithEveryMask) {
  const std::vector<SliceCase> cases = {
      {{0, 1}, {2, 3}, {1, 1}, 0, 0, 0, 0, 0, {2, 2}, {1, 2, 5, 6}},
      {{0, 0}, {0, 0}, {1, 2}, 3, 3, 0, 0, 0, {3, 2}, {0, 2, 4, 6, 8, 10}},
      {{0, -1}, {0, 0}, {1, -1}, 1, 3, 0, 0, 0, {3, 4}, {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}},
      {{0, -1}, {1, 0}, {1, 1}, 1, 1, 0, 0, 2, {3}, {3, 7, 11}},
      {{1}, {2}, {1}, 0, 0, 0, 0, 1, {4}, {4, 5, 6, 7}},
      {{0, 2}, {0, 3}, {1, 1}, 0, 0, 1, 0, 0, {3, 1}, {2, 6, 10}},
      {{0, 2, 0}, {0, 3, 0}, {1, 1, 1}, 4, 4, 0, 1, 0, {1, 1, 4}, {8, 9, 10, 11}},
      {{0, 3}, {0, -5}, {1, -2}, 1, 1, 0, 0, 0, {3, 2}, {3, 1, 7, 5, 11, 9}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const SliceCase& c = cases[i];
    TfliteWriter writer;
    const int in = writer.Value({"x", {3, 4}});
    const int begin = writer.Ints(c.begin), end = writer.Ints(c.end);
    const int stride = writer.Ints(c.stride);
    const int out = writer.Value({"y", {}});
    writer.Op(Op::STRIDED_SLICE, {in, begin, end, stride}, {out},
              tfl::CreateStridedSliceOptions(writer.fbb(), c.begin_mask, c.end_mask, c.ellipsis,
                                             c.new_axis, c.shrink));
    const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({3, 4}, Counting(12))});
    ASSERT_EQ(y.size(), 1u);
    ExpectNear(y[0], c.shape, c.expected);
  }
}

TEST(TfliteOps, SplitsAndJoinsAlongAnyAxis) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {2, 4}});
  const int axis = writer.Constant<int32_t>({"axis", {}, tfl::ElementType::INT32}, {-1});
  const int a = writer.Value({"a", {2, 2}}), b = writer.Value({"b", {2, 2}});
  const int joined = writer.Value({"joined", {4, 2}});
  const int sizes = writer.Ints({1, -1});
  const int zero = writer.Constant<int32_t>({"zero", {}, tfl::ElementType::INT32}, {0});
  const int first = writer.Value({"first", {1, 2}}), rest = writer.Value({"rest", {3, 2}});
  const int r0 = writer.Value({"r0", {2}}), r1 = writer.Value({"r1", {2}});
  const int r2 = writer.Value({"r2", {2}}), packed = writer.Value({"packed", {2, 3}});
  writer.Op(Op::SPLIT, {axis, in}, {a, b}, tfl::CreateSplitOptions(writer.fbb(), 2));
  writer.Op(Op::CONCATENATION, {b, a}, {joined}, tfl::CreateConcatenationOptions(writer.fbb(), 0));
  writer.Op(Op::SPLIT_V, {joined, sizes, zero}, {first, rest},
            tfl::CreateSplitVOptions(writer.fbb(), 2));
  writer.Op(Op::UNPACK, {rest}, {r0, r1, r2}, tfl::CreateUnpackOptions(writer.fbb(), 3, 0));
  writer.Op(Op::PACK, {r2, r1, r0}, {packed}, tfl::CreatePackOptions(writer.fbb(), 3, -1));
  const auto y = RunBytes(writer.Finish({in}, {first, packed}), {FloatTensor({2, 4}, Counting(8))});
  ASSERT_EQ(y.size(), 2u);
  ExpectNear(y[0], {1, 2}, {2, 3});
  ExpectNear(y[1], {2, 3}, {4, 0, 6, 5, 1, 7});
}

// The shape of a value, one of its extents, packed into a new shape: known while it is read.
TEST(TfliteOps, ShapesThatTheModelComputesAreKnown) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 6}, tfl::ElementType::FLOAT32, {}, {}, 0, {-1, 6}});
  const int shape = writer.Value({"shape", {2}, tfl::ElementType::INT32});
  const int begin = writer.Ints({0}), end = writer.Ints({1}), stride = writer.Ints({1});
  const int rows = writer.Value({"rows", {}, tfl::ElementType::INT32});
  const int three = writer.Constant<int32_t>({"three", {}, tfl::ElementType::INT32}, {3});
  const int two = writer.Constant<int32_t>({"two", {}, tfl::ElementType::INT32}, {2});
  const int wanted = writer.Value({"wanted", {3}, tfl::ElementType::INT32});
  const int out = writer.Value({"y", {1, 3, 2}});
  writer.Op(Op::SHAPE, {in}, {shape},
            tfl::CreateShapeOptions(writer.fbb(), tfl::ElementType::INT32));
  writer.Op(Op::STRIDED_SLICE, {shape, begin, end, stride}, {rows},
            tfl::CreateStridedSliceOptions(writer.fbb(), 0, 0, 0, 0, 1));
  writer.Op(Op::PACK, {rows, three, two}, {wanted}, tfl::CreatePackOptions(writer.fbb(), 3, 0));
  writer.Op(Op::RESHAPE, {in, wanted}, {out});
  const std::string bytes = writer.Finish({in}, {out});
  auto y = RunBytes(bytes, {FloatTensor({1, 6}, Counting(6))});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 3, 2}, Counting(6));
  ImportOptions pinned;
  pinned.input_shapes["x"] = Shape{2, 6};
  y = RunBytes(bytes, {FloatTensor({2, 6}, Counting(12))}, pinned);
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {2, 3, 2}, Counting(12));
  pinned.input_shapes["x"] = Shape{2, 5};
  EXPECT_TRUE(absl::IsInvalidArgument(ImportBytes(bytes, pinned).status()));
}

TEST(TfliteOps, FullyConnectedFlattensOrKeepsAxes) {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};  // two rows of three
  for (const bool keep : {false, true}) {
    TfliteWriter writer;
    const int in = writer.Value({"x", {2, 1, 3}});
    const int weights = writer.Floats({2, 3}, w), bias = writer.Floats({2}, {-20, 1});
    const int out = writer.Value({"y", {2, 2}});
    writer.Op(Op::FULLY_CONNECTED, {in, weights, bias}, {out},
              tfl::CreateFullyConnectedOptions(writer.fbb(), tfl::Activation::RELU, 0, keep));
    const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({2, 1, 3}, Counting(6))});
    ASSERT_EQ(y.size(), 1u);
    ExpectNear(y[0], keep ? Shape{2, 1, 2} : Shape{2, 2}, {0, 18, 6, 63});
  }
}

// Weights of fewer bits under real numbers: they are real ones from the start. The activations of
// the hybrid layer are whole numbers of steps of 1/51.
TEST(TfliteOps, HybridAndHalfWeightsBecomeReal) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 2}});
  const int weights = writer.Constant<int8_t>(
      {"w", {2, 2}, tfl::ElementType::INT8, {0.5f, 2.0f}, {0, 0}, 0}, {2, 4, 1, -1});
  const int half = writer.Constant<uint16_t>({"half", {2}, tfl::ElementType::FLOAT16},
                                             {0x3c00, 0xc000});  // 1, -2
  const int bias = writer.Value({"bias", {2}});
  const int out = writer.Value({"y", {1, 2}});
  writer.Op(Op::DEQUANTIZE, {half}, {bias});
  writer.Op(Op::FULLY_CONNECTED, {in, weights, bias}, {out},
            tfl::CreateFullyConnectedOptions(writer.fbb()));
  const std::string bytes = writer.Finish({in}, {out});
  const auto graph = ImportBytes(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Node& node : graph->nodes) EXPECT_NE(node.kind, OpKind::kDequantizeLinear);
  const auto y = RunBytes(bytes, {FloatTensor({1, 2}, {3, 5})});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 2}, {1 * 3 + 2 * 5 + 1, 2 * 3 - 2 * 5 - 2});
}

TEST(TfliteOps, BatchedProductsOfTransposedOperands) {
  TfliteWriter writer;
  const int a = writer.Value({"a", {1, 3, 2}}), b = writer.Value({"b", {1, 2, 3}});
  const int out = writer.Value({"y", {1, 2, 2}});
  writer.Op(Op::BATCH_MATMUL, {a, b}, {out},
            tfl::CreateBatchMatMulOptions(writer.fbb(), true, true));
  const auto y = RunBytes(writer.Finish({a, b}, {out}), {FloatTensor({1, 3, 2}, Counting(6)),
                                                         FloatTensor({1, 2, 3}, Counting(6))});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 2, 2}, {10, 28, 13, 40});
}

TEST(TfliteOps, ReductionsAndPositions) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {2, 3}});
  const int axes = writer.Ints({1}), axis = writer.Ints({-1});
  const int mean = writer.Value({"mean", {2}}), sum = writer.Value({"sum", {2, 1}});
  const int most = writer.Value({"most", {2}, tfl::ElementType::INT32});
  writer.Op(Op::MEAN, {in, axes}, {mean}, tfl::CreateReducerOptions(writer.fbb(), false));
  writer.Op(Op::SUM, {in, axes}, {sum}, tfl::CreateReducerOptions(writer.fbb(), true));
  writer.Op(Op::ARG_MAX, {in, axis}, {most},
            tfl::CreateArgMaxOptions(writer.fbb(), tfl::ElementType::INT32));
  const auto y =
      RunBytes(writer.Finish({in}, {mean, sum, most}), {FloatTensor({2, 3}, {1, 5, 3, 9, 0, 3})});
  ASSERT_EQ(y.size(), 3u);
  ExpectNear(y[0], {2}, {3, 4});
  ExpectNear(y[1], {2, 1}, {9, 12});
  ASSERT_EQ(y[2].type(), (TensorType{DType::kInt32, {2}}));
  EXPECT_EQ(y[2].Values<int32_t>()[0], 1);
  EXPECT_EQ(y[2].Values<int32_t>()[1], 0);
}

TEST(TfliteOps, SoftmaxWithBetaAndL2Normalization) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 2}});
  const int soft = writer.Value({"soft", {1, 2}}), unit = writer.Value({"unit", {1, 2}});
  writer.Op(Op::SOFTMAX, {in}, {soft}, tfl::CreateSoftmaxOptions(writer.fbb(), 2.0f));
  writer.Op(Op::L2_NORMALIZATION, {in}, {unit});
  const auto y = RunBytes(writer.Finish({in}, {soft, unit}), {FloatTensor({1, 2}, {3, 4})});
  ASSERT_EQ(y.size(), 2u);
  const float high = 1 / (1 + std::exp(-2.0f));
  ExpectNear(y[0], {1, 2}, {1 - high, high});
  ExpectNear(y[1], {1, 2}, {0.6f, 0.8f});
}

}  // namespace
}  // namespace berth

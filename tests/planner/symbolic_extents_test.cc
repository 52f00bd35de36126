// Outputs in terms of the inputs' names: what the usual ops make of them, and what has no formula.
#include "planner/symbolic_extents.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/reference/reference.h"
#include "planner/compile.h"
#include "planner/fit_extent.h"
#include "tests/planner/model_builder.h"

namespace berth {
namespace {

void AddInt64s(ModelBuilder& b, const std::string& name, const std::vector<int64_t>& values) {
  auto& tensor =
      b.Initializer(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())});
  for (const int64_t value : values) tensor.add_int64_data(value);
}

// How the bundle describes the only output.
std::string OutputOf(const ModelBuilder& model, const std::vector<DimRange>& ranges = {}) {
  const ScratchFolder folder;
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.evaluator = EvaluateNode;
  options.ranges = ranges;
  const auto contents = CompileModel(folder.Write("m.onnx", model.model), options);
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? DescribeTensor(contents->outputs[0]) : "";
}

ModelBuilder ConvModel(const std::vector<int64_t>& strides) {
  ModelBuilder b;
  b.Input("x", {-1, 1, -1, -1});
  b.Output("y", {-1, 2, -1, -1});
  b.Floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.1f));
  auto& node = b.Node("Conv", {"x", "w"}, {"y"});
  SetInts(node, "pads", {1, 1, 1, 1});
  SetInts(node, "strides", strides);
  return b;
}

TEST(SymbolicExtents, ConvolutionsDivideByTheirStride) {
  EXPECT_EQ(OutputOf(ConvModel({2, 3})), "float32[d0x2xfloor((d2+1)/2)xfloor((d3+2)/3)]");
  EXPECT_EQ(OutputOf(ConvModel({1, 1})), "float32[d0x2xd2xd3]");
}

// Within a range there may be a simpler truth.
TEST(SymbolicExtents, ProbesStayWithinRanges) {
  EXPECT_EQ(OutputOf(ConvModel({2, 3}), {{"d2", 7, 7}, {"d3", 1, 3}}), "float32[d0x2x4x1]");
}

TEST(SymbolicExtents, ConcatenationsAddUp) {
  ModelBuilder b;
  b.Input("x", {-1, -1});
  b.Output("y", {-1, -1});
  SetInt(b.Node("Concat", {"x", "x", "x"}, {"wide"}), "axis", 1);
  SetInt(b.Node("Concat", {"wide", "wide"}, {"y"}), "axis", 0);
  EXPECT_EQ(OutputOf(b), "float32[2*d0x3*d1]");
}

// x: d0 x 4; past: 3 x d1 x 4, as rows of 4 (`flat`) and without the first two (`most`).
ModelBuilder RowsModel(const std::vector<std::string>& rows) {
  ModelBuilder b;
  b.Input("x", {-1, 4});
  b.Input("past", {3, -1, 4});
  b.Output("y", {-1, 4});
  AddInt64s(b, "target", {-1, 4});
  b.Floats("five", {5, 4}, std::vector<float>(20, 1.0f));
  b.Node("Reshape", {"past", "target"}, {"flat"});
  b.Node("Slice", {"flat", "starts", "ends"}, {"most"});
  AddInt64s(b, "starts", {2});
  AddInt64s(b, "ends", {int64_t{1} << 40});
  SetInt(b.Node("Concat", rows, {"y"}), "axis", 0);
  return b;
}

TEST(SymbolicExtents, DifferentDimensionsAddUp) {
  EXPECT_EQ(OutputOf(RowsModel({"x", "five", "x"})), "float32[(2*d0+5)x4]");
  EXPECT_EQ(OutputOf(RowsModel({"most", "five"})), "float32[(3*d1+3)x4]");
}

// 3 * d1 + d0 is none of the formulas: the model's own name stays.
TEST(SymbolicExtents, WhatHasNoFormulaKeepsItsName) {
  EXPECT_EQ(OutputOf(RowsModel({"flat", "x"})), "float32[d0x4]");
}

TEST(SymbolicExtents, ReshapesMultiply) {
  ModelBuilder b;
  b.Input("x", {-1, -1, 6});
  b.Output("y", {-1, 2});
  AddInt64s(b, "target", {-1, 2});
  b.Node("Reshape", {"x", "target"}, {"y"});
  EXPECT_EQ(OutputOf(b), "float32[3*d0*d1x2]");
}

// Sizes that most networks with skip connections do not take are no obstacle.
TEST(SymbolicExtents, OnlyMultiplesAreTaken) {
  ModelBuilder b;
  b.Input("x", {1, 1, -1, -1});
  b.Output("y", {1, 1, -1, -1});
  b.Floats("scales", {4}, {1, 1, 8, 8});
  auto& pool = b.Node("MaxPool", {"x"}, {"small"});
  SetInts(pool, "kernel_shape", {8, 8});
  SetInts(pool, "strides", {8, 8});
  b.Node("Resize", {"small", "", "scales"}, {"large"});
  b.Node("Add", {"large", "x"}, {"y"});
  EXPECT_EQ(OutputOf(b), "float32[1x1xd2xd3]");
}

TEST(SymbolicExtents, ShapesThatHangOnValuesKeepTheirNames) {
  ModelBuilder b;
  b.Input("x", {-1, -1});
  b.Output("y", {2, -1}, onnx::TensorProto::INT64);
  b.Node("NonZero", {"x"}, {"y"});
  EXPECT_EQ(OutputOf(b), "int64[2xd1]");
}

// Random formulas are found again from what they give.
TEST(FitExtent, FindsWhatItIsGiven) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  for (int i = 0; i < 300; ++i) {
    ExtentFormula hidden;
    hidden.term.first = static_cast<int>(below(2));
    hidden.divisor = 1 + below(16);
    hidden.factor = 1 + below(3);
    hidden.scale = 1 + below(4);
    hidden.shift = below(9);
    hidden.offset = below(5);
    std::vector<ExtentSample> samples;
    for (int k = 0; k < 64; ++k) {
      ExtentSample sample{{20 + k, 1 + below(200)}};
      if (hidden.term.first == 1) std::swap(sample.sizes[0], sample.sizes[1]);
      sample.extent = EvaluateExtent(hidden, sample.sizes);
      samples.push_back(sample);
    }
    const auto found = FitExtent(samples, {0, 1});
    ASSERT_TRUE(found.has_value())
        << "seed " << kSeed << ", formula " << i << ": " << ExtentText(hidden, {"s", "t"});
    for (int64_t size = 1; size < 300; ++size) {
      ASSERT_EQ(EvaluateExtent(*found, {size, size}), EvaluateExtent(hidden, {size, size}))
          << "seed " << kSeed << ", formula " << i << ": " << ExtentText(hidden, {"s", "t"})
          << " found as " << ExtentText(*found, {"s", "t"}) << " at " << size;
    }
  }
}

TEST(FitExtent, NothingWhereNothingFitsOrLittleWasSeen) {
  std::vector<ExtentSample> squares;
  for (int64_t s = 1; s < 40; ++s) squares.push_back({{s}, s * s});
  EXPECT_FALSE(FitExtent(squares, {0}).has_value());
  squares.resize(2);
  EXPECT_FALSE(FitExtent(squares, {0}).has_value());
}

}  // namespace
}  // namespace berth

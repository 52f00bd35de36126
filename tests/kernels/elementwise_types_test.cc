// What the type rules of the elementwise, reducing and normalizing ops accept and refuse.
#include "kernels/onnx_dtype.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

Tensor Zeros(DType dtype, const Shape& shape) { return Tensor(TensorType{dtype, shape}); }

absl::StatusCode CodeOf(OpCase& test) { return test.Infer().code(); }

TensorType ResultOf(OpCase& test, size_t output = 0) {
  const absl::Status status = test.Infer();
  EXPECT_TRUE(status.ok()) << status;
  return test.graph().at(test.node().outputs[output]).type;
}

TEST(ElementwiseTypes, BroadcastShapeAndDType) {
  OpCase add(OpKind::kAdd);
  add.Input(Zeros(DType::kInt8, Shape{4, 1, 3})).Input(Zeros(DType::kInt8, Shape{5, 1}));
  EXPECT_EQ(ResultOf(add), (TensorType{DType::kInt8, Shape{4, 5, 3}}));

  OpCase equal(OpKind::kEqual);
  equal.Input(Zeros(DType::kInt64, Shape{2})).Input(Zeros(DType::kInt64, Shape{}));
  EXPECT_EQ(ResultOf(equal), (TensorType{DType::kBool, Shape{2}}));
}

TEST(ElementwiseTypes, OperandsThatDoNotFit) {
  OpCase shapes(OpKind::kMul);
  shapes.Input(Zeros(DType::kFloat32, Shape{4})).Input(Zeros(DType::kFloat32, Shape{3}));
  EXPECT_EQ(CodeOf(shapes), absl::StatusCode::kInvalidArgument);

  OpCase dtypes(OpKind::kMul);
  dtypes.Input(Zeros(DType::kFloat32, Shape{4})).Input(Zeros(DType::kInt32, Shape{4}));
  EXPECT_EQ(CodeOf(dtypes), absl::StatusCode::kInvalidArgument);

  OpCase missing(OpKind::kMul);
  missing.Input(Zeros(DType::kFloat32, Shape{4})).Absent();
  EXPECT_EQ(CodeOf(missing), absl::StatusCode::kInvalidArgument);

  OpCase count(OpKind::kSub);
  count.Input(Zeros(DType::kFloat32, Shape{4}));
  EXPECT_EQ(CodeOf(count), absl::StatusCode::kInvalidArgument);

  OpCase floats_only(OpKind::kSqrt);
  floats_only.Input(Zeros(DType::kInt32, Shape{4}));
  EXPECT_EQ(CodeOf(floats_only), absl::StatusCode::kInvalidArgument);

  OpCase slope(OpKind::kPRelu);
  slope.Input(Zeros(DType::kFloat32, Shape{4})).Input(Zeros(DType::kFloat32, Shape{2, 4}));
  EXPECT_EQ(CodeOf(slope), absl::StatusCode::kInvalidArgument);

  OpCase condition(OpKind::kWhere);
  condition.Input(Zeros(DType::kInt32, Shape{4}))
      .Input(Zeros(DType::kFloat32, Shape{4}))
      .Input(Zeros(DType::kFloat32, Shape{4}));
  EXPECT_EQ(CodeOf(condition), absl::StatusCode::kInvalidArgument);

  OpCase bound(OpKind::kClip);
  bound.Input(Zeros(DType::kFloat32, Shape{4})).Input(Zeros(DType::kFloat32, Shape{4}));
  EXPECT_EQ(CodeOf(bound), absl::StatusCode::kInvalidArgument);
}

TEST(ElementwiseTypes, CastTargets) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromOnnx(DTypeToOnnx(dtype)), dtype);
  }
  OpCase none(OpKind::kCast);
  none.Input(Zeros(DType::kFloat32, Shape{4}));
  EXPECT_EQ(CodeOf(none), absl::StatusCode::kInvalidArgument);

  OpCase to_string(OpKind::kCast);
  to_string.Input(Zeros(DType::kFloat32, Shape{4})).Attribute("to", int64_t{8});
  EXPECT_EQ(CodeOf(to_string), absl::StatusCode::kUnimplemented);

  OpCase old(OpKind::kCast, 1);
  old.Input(Zeros(DType::kFloat32, Shape{4})).Attribute("to", std::string("DOUBLE"));
  EXPECT_EQ(ResultOf(old).dtype, DType::kFloat64);
}

TEST(ReduceTypes, AxesAndKeepDims) {
  OpCase attribute(OpKind::kReduceMean, 11);
  attribute.Input(Zeros(DType::kFloat32, Shape{2, 3, 4}))
      .Attribute("axes", std::vector<int64_t>{-1, 0})
      .Attribute("keepdims", int64_t{0});
  EXPECT_EQ(ResultOf(attribute).shape, (Shape{3}));

  OpCase all(OpKind::kReduceMax, 11);
  all.Input(Zeros(DType::kFloat32, Shape{2, 3, 4}));
  EXPECT_EQ(ResultOf(all).shape, (Shape{1, 1, 1}));

  OpCase outside(OpKind::kReduceMax, 11);
  outside.Input(Zeros(DType::kFloat32, Shape{2, 3})).Attribute("axes", std::vector<int64_t>{2});
  EXPECT_EQ(CodeOf(outside), absl::StatusCode::kInvalidArgument);

  OpCase unknown(OpKind::kReduceSum, 13);
  unknown.Input(Zeros(DType::kFloat32, Shape{2, 3})).Input(Int64Tensor({1}));
  EXPECT_EQ(CodeOf(unknown), absl::StatusCode::kFailedPrecondition);
}

TEST(ReduceTypes, PositionsOfNothing) {
  OpCase test(OpKind::kArgMax);
  test.Input(Zeros(DType::kFloat32, Shape{0, 3}));
  EXPECT_EQ(CodeOf(test), absl::StatusCode::kInvalidArgument);
}

TEST(SoftmaxTypes, AxisOutsideOfTheShape) {
  OpCase test(OpKind::kSoftmax);
  test.Input(Zeros(DType::kFloat32, Shape{2, 3})).Attribute("axis", int64_t{2});
  EXPECT_EQ(CodeOf(test), absl::StatusCode::kInvalidArgument);
}

TEST(LayerNormalizationTypes, StatisticsKeepTheirAxes) {
  OpCase test(OpKind::kLayerNormalization);
  test.Input(Zeros(DType::kFloat16, Shape{2, 3, 4}))
      .Input(Zeros(DType::kFloat16, Shape{3, 4}))
      .Attribute("axis", int64_t{1})
      .Outputs(3);
  EXPECT_EQ(ResultOf(test, 1), (TensorType{DType::kFloat32, Shape{2, 1, 1}}));

  OpCase scale(OpKind::kLayerNormalization);
  scale.Input(Zeros(DType::kFloat32, Shape{2, 3})).Input(Zeros(DType::kFloat32, Shape{2}));
  EXPECT_EQ(CodeOf(scale), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::testing

// How matrix and vector unit wait for one another in a striped segment, against figures worked out
// by hand.
#include <gtest/gtest.h>

#include "planner/schedule/segment_pipeline.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

constexpr int kParts = 8;
constexpr int64_t kMatrixCycles = 100, kVectorCycles = 60;

TEST(RunCycles, AVectorCommandWaitsForTheMatrixCommandsBeforeIt) {
  RunCycles run;
  AddMatrixCommand(10, run);
  AddVectorCommand(4, run);  // 10 to 14
  AddMatrixCommand(10, run);
  AddVectorCommand(30, run);  // 20 to 50
  AddVectorCommand(5, run);
  EXPECT_EQ(run.matrix, 20);
  EXPECT_EQ(run.vector, 39);
  EXPECT_EQ(run.end, 55);
}

// A convolution of one tap, row by row, and the sigmoid of its result.
class SegmentPipeline : public ::testing::Test {
 protected:
  SegmentPipeline() : g_(1) {
    Node conv;
    conv.kind = OpKind::kConv;
    conv.name = "conv";
    conv.opset = kRewriteOpset;
    conv.layout = DataLayout::kNhwc;
    conv.inputs = {g_.Input(Shape{1, kParts, 4, 4}), g_.Weights(Shape{1, 1, 4, 4})};
    conv.outputs = {g_.graph.AddValue("sum", TensorType{})};
    EXPECT_TRUE(InferTypesOf(g_.graph, conv).ok());
    g_.graph.nodes.push_back(conv);
    g_.Output(g_.Apply(OpKind::kSigmoid, {conv.outputs[0]}));
  }

  // Every row in a part of its own; the result of the convolution fills its buffer in each.
  int64_t Cycles(Segment segment, bool bands_spread) {
    segment.begin_step = 0;
    segment.end_step = 2;
    segment.parts = kParts;
    StorageOptions options;
    options.in_place = false;
    StoragePlan storage = AssignStorage(g_.graph, options);
    SegmentTables tables(g_.graph);
    SegmentSample sample;
    sample.bands = *PlanBands(g_.graph, storage, tables.uses, tables.reads, segment);
    EXPECT_EQ(sample.bands.parts, kParts);
    for (int part = 0; part < kParts; ++part) {
      sample.run_of_step.insert(sample.run_of_step.end(), {0, 1});
    }
    std::vector<RunCycles> runs(2);
    AddMatrixCommand(kMatrixCycles, runs[0]);
    AddVectorCommand(kVectorCycles, runs[1]);
    runs[0].moves_result = segment.spare_parts == 0;
    return PipelineCycles(g_.graph, storage, tables, segment, sample, runs, bands_spread);
  }

  TestGraph g_;
};

TEST_F(SegmentPipeline, UnitsWorkSideBySideWhereThereIsRoom) {
  const int64_t side_by_side = kParts * kMatrixCycles + kVectorCycles;
  EXPECT_EQ(Cycles({.spare_parts = 2}, false), side_by_side);
  EXPECT_EQ(Cycles({}, true), side_by_side);
}

TEST_F(SegmentPipeline, UnitsTakeTurnsWhereRowsReplaceTheLastOnes) {
  const int64_t in_turn = kParts * (kMatrixCycles + kVectorCycles);
  EXPECT_EQ(Cycles({}, false), in_turn);
  EXPECT_EQ(Cycles({.moves_in_place = true}, true), in_turn);
}

}  // namespace
}  // namespace berth

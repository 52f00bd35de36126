// What files the importer takes and how it refuses others.
#include <gmock/gmock.h>

#include "planner/frontend.h"
#include "planner/import_model.h"
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;
using ::testing::HasSubstr;

// A convolution, a pool and a fully connected layer: tables of most kinds.
std::string SmallModel() {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 4, 4, 2}});
  const int w = writer.Floats({3, 3, 3, 2}, std::vector<float>(54, 0.5f));
  const int bias = writer.Floats({3}, {1, 2, 3});
  const int conv = writer.Value({"conv", {1, 4, 4, 3}}),
            pool = writer.Value({"pool", {1, 2, 2, 3}});
  const int flat = writer.Value({"flat", {1, 12}});
  const int shape = writer.Ints({1, -1});
  const int matrix = writer.Floats({2, 12}, std::vector<float>(24, 0.25f));
  const int out = writer.Value({"y", {1, 2}});
  auto& fbb = writer.fbb();
  writer.Op(Op::CONV_2D, {in, w, bias}, {conv},
            tfl::CreateConv2DOptions(fbb, tfl::Padding::SAME, 1, 1, tfl::Activation::RELU));
  writer.Op(Op::MAX_POOL_2D, {conv}, {pool},
            tfl::CreatePool2DOptions(fbb, tfl::Padding::VALID, 2, 2, 2, 2));
  writer.Op(Op::RESHAPE, {pool, shape}, {flat});
  writer.Op(Op::FULLY_CONNECTED, {flat, matrix}, {out}, tfl::CreateFullyConnectedOptions(fbb));
  return writer.Finish({in}, {out});
}

absl::StatusOr<Graph> Prepare(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportModelFile(path, {}));
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  return PrepareGraph(std::move(graph), options);
}

std::string ErrorOf(const absl::StatusOr<Graph>& graph) {
  EXPECT_FALSE(graph.ok());
  return std::string(graph.status().message());
}

TEST(TfliteImport, KeepsNamesAndOrderOfTheInterface) {
  TfliteWriter writer;
  const int a = writer.Value({"a", {2}}), b = writer.Value({"b", {2}});
  const int sum = writer.Value({"sum", {2}});
  writer.Op(Op::ADD, {a, b}, {sum});
  const auto graph = ImportBytes(writer.Finish({b, a}, {sum, a, sum}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> names;
  for (const ValueId id : graph->inputs) names.push_back(graph->at(id).name);
  for (const ValueId id : graph->outputs) names.push_back(graph->at(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "a", "sum", "a", "sum"}));
}

// The content decides, then the ending.
TEST(TfliteImport, IsChosenByContent) {
  const TestFile file(SmallModel(), ".bin");
  EXPECT_TRUE(ImportModelFile(file.path(), {}).ok());
  const TestFile text("no flatbuffer at all", ".tflite");
  EXPECT_THAT(ErrorOf(ImportModelFile(text.path(), {})), HasSubstr("is not a TFLite model"));
  EXPECT_TRUE(absl::IsNotFound(ImportModelFile("/nonexistent/x.tflite", {}).status()));
}

TEST(TfliteImport, NamesAllUnsupportedOperatorsAtOnce) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {2}}), a = writer.Value({"a", {2}});
  const int b = writer.Value({"b", {2}}), out = writer.Value({"y", {2}});
  writer.Op(Op::FLOOR_MOD, {in, in}, {a});
  writer.Custom("Mystery", {a}, {b}, {});
  writer.Op(Op::FLOOR_MOD, {b, b}, {out});
  const auto graph = ImportBytes(writer.Finish({in}, {out}));
  EXPECT_TRUE(absl::IsUnimplemented(graph.status()));
  EXPECT_THAT(ErrorOf(graph), HasSubstr("unsupported ops: CUSTOM:Mystery x1 (first operator 1), "
                                        "FLOOR_MOD x2 (first operator 0)"));
}

TEST(TfliteImport, StructureIsChecked) {
  const auto error = [](auto&& fill) {
    TfliteWriter writer;
    const int in = writer.Value({"x", {2}}), out = writer.Value({"y", {2}});
    fill(writer, in, out);
    return ErrorOf(ImportBytes(writer.Finish({in}, {out})));
  };
  EXPECT_THAT(error([](TfliteWriter& w, int in, int) {
                w.Op(Op::ADD, {in, in}, {99});
              }),
              HasSubstr("operator 0: output 0 is tensor 99 of 2"));
  EXPECT_THAT(error([](TfliteWriter& w, int in, int out) {
                const int late = w.Value({"late", {2}});
                w.Op(Op::ADD, {in, late}, {out});
                w.Op(Op::ADD, {in, in}, {late});
              }),
              HasSubstr("operator 0: input 1 (tensor 2) is not defined"));
  EXPECT_THAT(error([](TfliteWriter& w, int in, int out) {
                w.Op(Op::ADD, {in, in}, {out});
                w.Op(Op::MUL, {in, in}, {out});
              }),
              HasSubstr("is defined already"));
  EXPECT_THAT(error([](TfliteWriter&, int, int) {}), HasSubstr("produced by nothing"));
  EXPECT_THAT(error([](TfliteWriter& w, int in, int out) {
                const int c = w.Constant<float>({"c", {3}}, {1, 2});
                w.Op(Op::ADD, {in, c}, {out});
              }),
              HasSubstr("tensor 2 ('c'): its buffer has 8 bytes"));
  EXPECT_THAT(error([](TfliteWriter& w, int in, int out) {
                w.Op(Op::CONV_2D, {in, in}, {out});
              }),
              HasSubstr("operator 0 (CONV_2D): its table of options is missing"));
  EXPECT_THAT(error([](TfliteWriter& w, int in, int out) {
                const int q = w.Constant<int8_t>(
                    {"q", {2}, tfl::ElementType::INT8, {1, 2}, {0, 0}, 1}, {1, 2});
                w.Op(Op::ADD, {in, q}, {out});
              }),
              HasSubstr("quantized dimension 1 of rank 1"));
}

// Mutated files give an error or a graph, nothing else.
TEST(TfliteImport, DamagedFilesAreRefusedOrRead) {
  const std::string model = SmallModel();
  for (size_t length = 0; length < model.size(); length += 7) {
    const TestFile file(model.substr(0, length));
    EXPECT_FALSE(Prepare(file.path()).ok()) << length;
  }
  std::mt19937_64 random(12);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = model;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    const TestFile file(damaged);
    const auto graph = Prepare(file.path());
    accepted += graph.ok() ? 1 : 0;
    if (graph.ok()) continue;
    EXPECT_FALSE(absl::IsInternal(graph.status())) << "round " << round << ": " << graph.status();
    EXPECT_THAT(std::string(graph.status().message()), ::testing::Not(HasSubstr("\n")));
  }
  EXPECT_GT(accepted, 100);  // weights change
}

}  // namespace
}  // namespace berth

// libberth_planner.so beside libberth.so: bundles from model files, and dynamic bundles that run
// with the lowering of the other library.
#include "berth/berth_planner.h"
#include "runtime/bundle/lowering_handle.h"
#include "tests/runtime/c_api/c_api_testing.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

class CApiPlanner : public testing::Test {
 protected:
  CApiPlanner() : model(folder.Write("m.onnx", network.model)), path(folder.path() / "m.berth") {
    options.target = "edge";
  }
  berth_status Compile() { return berth_planner_compile(model.c_str(), path.c_str(), &options); }
  void ExpectRefused(berth_status expected, const std::string& part) {
    EXPECT_EQ(Compile(), expected) << berth_planner_last_error_message();
    EXPECT_THAT(berth_planner_last_error_message(), testing::HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(path));
  }

  const ModelBuilder network = DynamicNetwork(false);
  const ScratchFolder folder;
  const std::string model, path;
  berth_compile_options options = berth_compile_options_init();
};

TEST_F(CApiPlanner, PinnedShapesMakeAStaticBundle) {
  const int64_t extents[] = {2, 3, 8, 8};
  const berth_named_shape shape = {"image", extents, 4, 0};
  options.shapes = &shape;
  options.shape_count = 1;
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  const ProgramHandle program = LoadProgram(path);
  EXPECT_EQ(berth_program_is_dynamic(program.get()), 0);
  berth_tensor_info info = berth_tensor_info_init();
  EXPECT_API_OK(berth_program_output(program.get(), 0, &info));
  EXPECT_STREQ(info.description, "float32[2x5]");
}

TEST_F(CApiPlanner, DynamicBundlesRunWithItsLowering) {
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  berth_program* none = nullptr;
  ExpectError(berth_program_load(path.c_str(), nullptr, &none), BERTH_FAILED_PRECONDITION,
              "lowering");
  berth_load_options load = berth_load_options_init();
  ASSERT_EQ(berth_planner_lowering(&load.lowering), BERTH_OK);
  const ProgramHandle program = LoadProgram(path, &load);
  EXPECT_EQ(berth_program_is_dynamic(program.get()), 1);
  berth_tensor_info info = berth_tensor_info_init();
  EXPECT_API_OK(berth_program_input(program.get(), 0, &info));
  EXPECT_EQ(info.size_bytes, -1);
  EXPECT_EQ(info.extents[0], -1);
  const PoolHandle pool = MakePool();
  const ContextHandle context = MakeContextHandle(program, pool);
  for (const int64_t batch : {1, 3, 1}) {
    const Tensor image = UniformTensor(Shape{batch, 3, 8, 8}, 5);
    const int64_t extents[] = {batch, 3, 8, 8};
    const berth_tensor from = {const_cast<std::byte*>(image.bytes().data()), image.bytes().size(),
                               extents, 4, BERTH_FLOAT32};
    berth_tensor_list* made = nullptr;
    EXPECT_API_OK(berth_context_run_alloc(context.get(), &from, 1, nullptr, &made, nullptr));
    const ListHandle outputs(made);
    berth_tensor scores = {};
    EXPECT_API_OK(berth_tensor_list_get(outputs.get(), 0, &scores));
    EXPECT_EQ(scores.extents[0], batch);
    const std::vector<Tensor> expected = ReferenceOf(network, {image});
    const auto* const values = static_cast<const float*>(scores.data);
    for (int64_t i = 0; i < batch * 5; ++i) {
      EXPECT_NEAR(values[i], expected[0].Values<float>()[static_cast<size_t>(i)], 1e-4);
    }
  }
  berth_dynamic_statistics statistics = berth_dynamic_statistics_init();
  EXPECT_API_OK(berth_program_dynamic_statistics(program.get(), &statistics));
  EXPECT_EQ(statistics.specializations, 2);
  EXPECT_EQ(statistics.reused, 1);
  const berth_tensor shapeless = {};
  berth_tensor_list* made = nullptr;
  ExpectError(berth_context_run_alloc(context.get(), &shapeless, 1, nullptr, &made, nullptr),
              BERTH_INVALID_ARGUMENT, "no extents given");
}

TEST_F(CApiPlanner, ALoweringOfAnotherBuildIsRefused) {
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  berth_lowering foreign;
  foreign.build = "9.9.9-0123";
  berth_load_options load = berth_load_options_init();
  load.lowering = &foreign;
  berth_program* none = nullptr;
  ExpectError(berth_program_load(path.c_str(), &load, &none), BERTH_FAILED_PRECONDITION,
              "another build: 9.9.9-0123");
}

struct FreeBundle {
  void operator()(void* bundle) const { berth_planner_free(bundle); }
};

TEST_F(CApiPlanner, BytesBecomeTheBytesOfTheFile) {
  const int64_t extents[] = {2, 3, 8, 8};
  const berth_named_shape shape = {"image", extents, 4, 0};
  options.shapes = &shape;
  options.shape_count = 1;
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  const std::string bytes = network.model.SerializeAsString();
  void* made = nullptr;
  size_t made_bytes = 0;
  ASSERT_EQ(berth_planner_compile_memory(bytes.data(), bytes.size(), &options, &made, &made_bytes),
            BERTH_OK)
      << berth_planner_last_error_message();
  const std::unique_ptr<void, FreeBundle> bundle(made);
  EXPECT_EQ(made_bytes, std::filesystem::file_size(path));
  // In place, without a copy.
  berth_load_options load = berth_load_options_init();
  load.borrow_memory = 1;
  berth_program* loaded = nullptr;
  EXPECT_API_OK(berth_program_load_memory(made, made_bytes, &load, &loaded));
  const ProgramHandle program(loaded), of_file = LoadProgram(path);
  berth_report *report = nullptr, *report_of_file = nullptr;
  EXPECT_API_OK(berth_program_simulate(program.get(), &report));
  EXPECT_API_OK(berth_program_simulate(of_file.get(), &report_of_file));
  const ReportHandle first(report), second(report_of_file);
  const char *json = nullptr, *json_of_file = nullptr;
  EXPECT_API_OK(berth_report_json(report, &json, nullptr));
  EXPECT_API_OK(berth_report_json(report_of_file, &json_of_file, nullptr));
  EXPECT_STREQ(json, json_of_file);
}

std::string ModelWithExternalData() {
  ModelBuilder builder;
  builder.Input("x", {2}).Output("y", {2}).Node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto& weights = builder.Initializer("w", onnx::TensorProto::FLOAT, {2});
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  return builder.model.SerializeAsString();
}

TEST_F(CApiPlanner, BytesThatAreNoModelAreErrors) {
  void* made = nullptr;
  size_t made_bytes = 0;
  const auto refuse = [&](const std::string& bytes, const std::string& part) {
    EXPECT_EQ(
        berth_planner_compile_memory(bytes.data(), bytes.size(), &options, &made, &made_bytes),
        BERTH_INVALID_ARGUMENT);
    EXPECT_THAT(berth_planner_last_error_message(), testing::HasSubstr(part));
    EXPECT_EQ(made, nullptr);
  };
  refuse("", "empty (0 bytes)");
  refuse("BERTHNPU, or so", "a bundle, which is already compiled");
  refuse("1234TFL3 and no more", "no TFLite model");
  const std::string external = ModelWithExternalData();
  refuse(external, "'w.bin' of a model in memory");
  folder.Write("w.bin", std::string(8, '\0'));
  const std::string data_folder = folder.path().string();
  options.data_folder = data_folder.c_str();
  EXPECT_EQ(
      berth_planner_compile_memory(external.data(), external.size(), &options, &made, &made_bytes),
      BERTH_OK)
      << berth_planner_last_error_message();
  berth_planner_free(made);
  EXPECT_EQ(berth_planner_compile_memory(nullptr, 1, nullptr, &made, &made_bytes),
            BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_planner_compile_memory("x", 1, nullptr, nullptr, &made_bytes),
            BERTH_INVALID_ARGUMENT);
  berth_planner_free(nullptr);
}

// Counts the calls, and ends the compilation at one of them.
struct Watcher {
  int calls = 0, last_call = -1;
  std::vector<berth_compile_stage> stages;  // without repetition
  berth_compile_progress last = {};

  static int32_t Tell(void* user, const berth_compile_progress* progress) {
    auto* const watcher = static_cast<Watcher*>(user);
    EXPECT_EQ(progress->struct_size, sizeof(berth_compile_progress));
    watcher->last = *progress;
    if (watcher->stages.empty() || watcher->stages.back() != progress->stage) {
      watcher->stages.push_back(progress->stage);
    }
    return ++watcher->calls == watcher->last_call;
  }
};

TEST_F(CApiPlanner, TellsHowFarItIs) {
  const int64_t extents[] = {2, 3, 8, 8};
  const berth_named_shape shape = {"image", extents, 4, 0};
  options.shapes = &shape;
  options.shape_count = 1;
  Watcher watcher;
  options.progress = Watcher::Tell;
  options.progress_user = &watcher;
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  ASSERT_GE(watcher.stages.size(), 7u);
  EXPECT_THAT(std::vector<berth_compile_stage>(watcher.stages.begin(), watcher.stages.begin() + 5),
              testing::ElementsAre(BERTH_STAGE_IMPORT, BERTH_STAGE_GRAPH, BERTH_STAGE_ORDER,
                                   BERTH_STAGE_RESIDENCY, BERTH_STAGE_PLACEMENT));
  EXPECT_EQ(watcher.last.stage, BERTH_STAGE_WRITE);
  EXPECT_GT(watcher.last.timed_plans, 0);
  EXPECT_GE(watcher.last.best_cycles, watcher.last.lower_bound_cycles);
  std::filesystem::remove(path);
  // Wherever it is ended, nothing is written.
  for (int last_call = watcher.calls; last_call > 0; last_call -= 1 + watcher.calls / 12) {
    Watcher impatient;
    impatient.last_call = last_call;
    options.progress_user = &impatient;
    ExpectRefused(BERTH_CANCELLED, "cancelled");
    EXPECT_LE(impatient.calls, watcher.calls);
  }
}

TEST_F(CApiPlanner, DynamicModelsCanBeCancelledToo) {
  const berth_named_range ranges[] = {{"d0", 1, 4}};
  options.ranges = ranges;
  options.range_count = 1;
  Watcher watcher;
  options.progress = Watcher::Tell;
  options.progress_user = &watcher;
  ASSERT_EQ(Compile(), BERTH_OK) << berth_planner_last_error_message();
  std::filesystem::remove(path);
  for (const int last_call : {1, 2, 5, watcher.calls}) {
    Watcher impatient;
    impatient.last_call = last_call;
    options.progress_user = &impatient;
    ExpectRefused(BERTH_CANCELLED, "cancelled");
  }
}

TEST_F(CApiPlanner, WrongOptionsAreErrors) {
  options.target = "no_such_machine";
  ExpectRefused(BERTH_NOT_FOUND, "no_such_machine");
  options.target = "edge";
  options.shape_count = 1;
  ExpectRefused(BERTH_INVALID_ARGUMENT, "shapes: null for 1 entries");
  const int64_t extents[] = {2, -3};
  berth_named_shape shape = {"image", extents, 2, 0};
  options.shapes = &shape;
  ExpectRefused(BERTH_INVALID_ARGUMENT, "shape of 'image'");
  shape.name = nullptr;
  ExpectRefused(BERTH_INVALID_ARGUMENT, "name of a shape is null");
  options.shape_count = 0;
  options.float_storage = BERTH_INT8;
  ExpectRefused(BERTH_INVALID_ARGUMENT, "float_storage");
  options.float_storage = 0;
  options.static_only = 1;
  ExpectRefused(BERTH_INVALID_ARGUMENT, "image");
  EXPECT_EQ(berth_planner_compile(nullptr, path.c_str(), nullptr), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_planner_compile("missing.onnx", path.c_str(), nullptr), BERTH_NOT_FOUND);
}

}  // namespace
}  // namespace berth

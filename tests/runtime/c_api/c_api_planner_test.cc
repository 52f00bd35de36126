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

// DLPack tensors through the C API: in place, strided, wrong, and as a run made them.
#include <dlpack/dlpack.h>

#include "tests/runtime/c_api/c_api_testing.h"

namespace berth {
namespace {

// A tensor of floats over `data`, which the caller keeps.
struct Dlpack {
  Dlpack(void* data, std::vector<int64_t> tensor_shape, std::vector<int64_t> tensor_strides = {})
      : shape(std::move(tensor_shape)), strides(std::move(tensor_strides)) {
    managed.dl_tensor.data = data;
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.dtype = {kDLFloat, 32, 1};
    managed.dl_tensor.ndim = static_cast<int>(shape.size());
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  Dlpack(const Dlpack&) = delete;

  std::vector<int64_t> shape, strides;
  DLManagedTensor managed{};
};

// A running sum of 2 x 3 floats: its second run gives twice the first one's input.
class CApiDlpack : public testing::Test {
 protected:
  CApiDlpack() : bundle(CompileRunningSum()), program(LoadProgram(bundle.path)), pool(MakePool()) {
    context = MakeContextHandle(program, pool);
  }
  berth_status Run(DLManagedTensor* from, DLManagedTensor* to) {
    return berth_context_run_dlpack(context.get(), &from, 1, &to, 1, nullptr, nullptr);
  }

  BundleOnDisk bundle;
  ProgramHandle program;
  PoolHandle pool;
  ContextHandle context;
  std::vector<float> values = {1, 2, 3, 4, 5, 6}, sums = std::vector<float>(6);
};

TEST_F(CApiDlpack, DenseTensorsAreUsedInPlace) {
  Dlpack from(values.data(), {2, 3}), to(sums.data(), {2, 3}, {3, 1});
  EXPECT_API_OK(Run(&from.managed, &to.managed));
  EXPECT_EQ(sums, values);
  // In place: an overlap is seen, as it is between buffers.
  Dlpack same(values.data(), {2, 3});
  ExpectError(Run(&from.managed, &same.managed), BERTH_INVALID_ARGUMENT, "overlaps");
}

TEST_F(CApiDlpack, StridedTensorsAreCopied) {
  std::vector<float> columns = {1, 4, 2, 5, 3, 6};  // transposed
  std::vector<float> wide(20, -1);
  Dlpack from(columns.data(), {2, 3}, {1, 2}), to(wide.data(), {2, 3}, {10, 2});
  to.managed.dl_tensor.byte_offset = sizeof(float);
  EXPECT_API_OK(Run(&from.managed, &to.managed));
  EXPECT_THAT(wide, testing::ElementsAre(-1, 1, -1, 2, -1, 3, -1, -1, -1, -1, -1, 4, -1, 5, -1, 6,
                                         -1, -1, -1, -1));
  Dlpack backwards(values.data() + 5, {2, 3}, {-3, -1}), dense(sums.data(), {2, 3});
  EXPECT_API_OK(berth_context_reset_states(context.get()));
  EXPECT_API_OK(Run(&backwards.managed, &dense.managed));
  EXPECT_THAT(sums, testing::ElementsAre(6, 5, 4, 3, 2, 1));
}

TEST_F(CApiDlpack, MisalignedTensorsAreCopied) {
  std::vector<char> room(6 * sizeof(float) + 1);
  std::memcpy(room.data() + 1, values.data(), 6 * sizeof(float));
  Dlpack from(room.data() + 1, {2, 3}), to(sums.data(), {2, 3});
  EXPECT_API_OK(Run(&from.managed, &to.managed));
  EXPECT_EQ(sums, values);
}

TEST_F(CApiDlpack, WrongTensorsAreErrors) {
  Dlpack to(sums.data(), {2, 3});
  const auto expect = [&](const std::string& part, auto&& change) {
    Dlpack from(values.data(), {2, 3}, {3, 1});
    change(from);
    ExpectError(Run(&from.managed, &to.managed), BERTH_INVALID_ARGUMENT, part);
  };
  const auto tensor = [](Dlpack& d) -> DLTensor& { return d.managed.dl_tensor; };
  expect("device type 2", [&](Dlpack& d) { tensor(d).device.device_type = kDLCUDA; });
  expect("no dtype of code 2, 32 bits, 4 lanes", [&](Dlpack& d) { tensor(d).dtype.lanes = 4; });
  expect("no dtype of code 9", [&](Dlpack& d) { tensor(d).dtype.code = 9; });
  expect("int32[2x3] given, float32[2x3] expected",
         [&](Dlpack& d) { tensor(d).dtype.code = kDLInt; });
  expect("rank -1", [&](Dlpack& d) { tensor(d).ndim = -1; });
  expect("shape null", [&](Dlpack& d) { tensor(d).shape = nullptr; });
  expect("null data", [&](Dlpack& d) { tensor(d).data = nullptr; });
  expect("float32[2x4]", [&](Dlpack& d) { d.shape[1] = 4, d.strides = {4, 1}; });
  expect("input 0", [&](Dlpack& d) { d.shape[1] = -4; });
  expect("reaches too far", [&](Dlpack& d) { d.strides[0] = INT64_MIN; });
  expect("reaches too far", [&](Dlpack& d) { d.strides[0] = int64_t{1} << 47; });
  ExpectError(Run(nullptr, &to.managed), BERTH_INVALID_ARGUMENT, "input 0: null");
  Dlpack from(values.data(), {2, 3}), repeated(sums.data(), {2, 3}, {0, 1});
  ExpectError(Run(&from.managed, &repeated.managed), BERTH_INVALID_ARGUMENT, "share bytes");
  // As an input it is one row, twice.
  std::vector<float> twice(6);
  Dlpack dense(twice.data(), {2, 3});
  repeated.managed.dl_tensor.data = values.data();
  EXPECT_API_OK(Run(&repeated.managed, &dense.managed));
  EXPECT_THAT(twice, testing::ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST_F(CApiDlpack, ARunsTensorsOutliveTheirList) {
  const berth_tensor from = TensorOver(values);
  berth_tensor_list* made = nullptr;
  EXPECT_API_OK(berth_context_run_alloc(context.get(), &from, 1, nullptr, &made, nullptr));
  ListHandle list(made);
  ASSERT_EQ(berth_tensor_list_count(list.get()), 1u);
  berth_tensor view = {};
  EXPECT_API_OK(berth_tensor_list_get(list.get(), 0, &view));
  EXPECT_EQ(view.size_bytes, 24u);
  DLManagedTensor* shared = nullptr;
  EXPECT_API_OK(berth_tensor_list_to_dlpack(list.get(), 0, &shared));
  EXPECT_EQ(shared->dl_tensor.data, view.data) << "no copy";
  ExpectError(berth_tensor_list_to_dlpack(list.get(), 1, &shared), BERTH_INVALID_ARGUMENT,
              "tensor 1 of 1");
  list.reset();
  const auto* const data = static_cast<const float*>(shared->dl_tensor.data);
  EXPECT_EQ(std::vector<float>(data, data + 6), values);
  EXPECT_EQ(shared->dl_tensor.ndim, 2);
  shared->deleter(shared);
}

}  // namespace
}  // namespace berth

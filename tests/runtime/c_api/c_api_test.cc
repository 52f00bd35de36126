// The C API as libberth.so gives it: values, questions, states, and the clear errors of wrong
// calls.
#include "berth/context.h"
#include "runtime/bundle/bundle.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/c_api/c_api_testing.h"
#include "tests/runtime/c_api/c_host.h"

namespace berth {
namespace {

TEST_F(CApi, ServesAHostInC) { EXPECT_EQ(c_host_run(bundle.path.c_str()), 0); }

TEST_F(CApi, GivesTheValuesOfTheCppApi) {
  EXPECT_API_OK(Run());
  auto direct = Program::Load(bundle.path);
  ASSERT_TRUE(direct.ok()) << direct.status();
  ArenaPool arenas;
  auto runner = Context::Create(*direct, arenas);
  ASSERT_TRUE(runner.ok()) << runner.status();
  std::vector<Tensor> expected;
  const ConstTensorView view((*direct)->inputs()[0].type,
                             reinterpret_cast<const std::byte*>(input.data()));
  ASSERT_TRUE((*runner)->Run({view}, expected).ok());
  EXPECT_THAT(output, testing::ElementsAreArray(expected[0].Values<float>()));
}

TEST_F(CApi, TellsWhatAContextNeedsBeforeThereIsOne) {
  EXPECT_EQ(berth_program_input_count(program.get()), 1u);
  EXPECT_EQ(berth_program_output_count(program.get()), 1u);
  EXPECT_EQ(berth_program_state_count(program.get()), 0u);
  EXPECT_EQ(berth_program_is_dynamic(program.get()), 0);
  berth_tensor_info info = berth_tensor_info_init();
  EXPECT_API_OK(berth_program_input(program.get(), 0, &info));
  EXPECT_STREQ(info.description, "float32[1x3x12x12]");
  EXPECT_EQ(info.name_bytes, std::strlen(info.name));
  EXPECT_THAT(std::vector<int64_t>(info.extents, info.extents + info.rank),
              testing::ElementsAre(1, 3, 12, 12));
  EXPECT_EQ(info.size_bytes, static_cast<int64_t>(kInputs * sizeof(float)));
  ExpectError(berth_program_input(program.get(), 1, &info), BERTH_INVALID_ARGUMENT, "input 1 of 1");
  berth_memory memory = berth_memory_init();
  EXPECT_API_OK(berth_program_memory(program.get(), &memory));
  EXPECT_GE(memory.arena_bytes,
            memory.pool_bytes + memory.scratchpad_bytes + memory.accumulator_bytes);
  berth_arena_pool_statistics statistics = berth_arena_pool_statistics_init();
  EXPECT_API_OK(berth_arena_pool_get_statistics(pool.get(), &statistics));
  EXPECT_EQ(statistics.leased_bytes, memory.arena_bytes);
  EXPECT_EQ(berth_program_arena_bytes(program.get(), 1), memory.arena_bytes);
  EXPECT_GT(berth_program_arena_bytes(program.get(), 4), memory.arena_bytes);
}

TEST_F(CApi, ReportsNumbersAndJson) {
  berth_report* made = nullptr;
  EXPECT_API_OK(berth_program_simulate(program.get(), &made));
  const ReportHandle report(made);
  berth_report_numbers numbers = berth_report_numbers_init();
  EXPECT_API_OK(berth_report_get(report.get(), &numbers));
  EXPECT_GT(numbers.macs, 0);
  EXPECT_GT(numbers.matrix_utilization, 0);
  EXPECT_LE(numbers.matrix_utilization, 1);
  const char* json = nullptr;
  size_t json_bytes = 0;
  EXPECT_API_OK(berth_report_json(report.get(), &json, &json_bytes));
  EXPECT_EQ(std::strlen(json), json_bytes);
  EXPECT_THAT(json,
              testing::HasSubstr("\"makespan_cycles\":" + std::to_string(numbers.makespan_cycles)));
  // For cycles alone a run needs no tensors, and tells the same.
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_CYCLES;
  EXPECT_API_OK(berth_context_run(context.get(), nullptr, 0, nullptr, 0, &options, &made));
  const ReportHandle again(made);
  const char* json_again = nullptr;
  EXPECT_API_OK(berth_report_json(again.get(), &json_again, nullptr));
  EXPECT_STREQ(json, json_again);
}

TEST_F(CApi, NullHandlesAreErrors) {
  berth_program* no_program = nullptr;
  berth_context* no_context = nullptr;
  const char* text = nullptr;
  const berth_tensor tensor = {};
  const berth_status calls[] = {
      berth_program_load(nullptr, nullptr, &no_program),
      berth_program_load(bundle.path.c_str(), nullptr, nullptr),
      berth_program_load_memory(nullptr, 4096, nullptr, &no_program),
      berth_program_input(program.get(), 0, nullptr),
      berth_program_state(nullptr, 0, nullptr),
      berth_program_memory(nullptr, nullptr),
      berth_program_simulate(nullptr, nullptr),
      berth_program_dynamic_statistics(nullptr, nullptr),
      berth_arena_pool_create(nullptr, nullptr),
      berth_arena_pool_trim(nullptr, 0),
      berth_context_create(nullptr, pool.get(), nullptr, &no_context),
      berth_context_create(program.get(), nullptr, nullptr, &no_context),
      berth_context_create(program.get(), pool.get(), nullptr, nullptr),
      berth_context_run(nullptr, &tensor, 1, &tensor, 1, nullptr, nullptr),
      berth_context_run(context.get(), nullptr, 1, &tensor, 1, nullptr, nullptr),
      berth_context_run_dlpack(context.get(), nullptr, 1, nullptr, 1, nullptr, nullptr),
      berth_context_run_alloc(context.get(), &tensor, 1, nullptr, nullptr, nullptr),
      berth_context_run_async(nullptr, &tensor, 1, &tensor, 1, nullptr, nullptr, nullptr),
      berth_context_run_async(context.get(), &tensor, 1, &tensor, 1, nullptr, nullptr, nullptr),
      berth_context_cancel(nullptr),
      berth_context_reset_states(nullptr),
      berth_context_get_state(nullptr, 0, nullptr),
      berth_context_set_state(context.get(), 0, nullptr),
      berth_report_get(nullptr, nullptr),
      berth_report_json(nullptr, &text, nullptr),
      berth_tensor_list_get(nullptr, 0, nullptr),
      berth_tensor_list_to_dlpack(nullptr, 0, nullptr),
  };
  for (size_t i = 0; i < std::size(calls); ++i) EXPECT_EQ(calls[i], BERTH_INVALID_ARGUMENT) << i;
  EXPECT_EQ(berth_program_input_count(nullptr), 0u);
  EXPECT_EQ(berth_tensor_list_count(nullptr), 0u);
  berth_program_release(nullptr);
  berth_context_release(nullptr);
}

TEST_F(CApi, WrongTensorsAreErrors) {
  const int64_t extents[] = {1, 3, 12, 12}, other[] = {1, 3, 12, 13}, negative[] = {1, 3, -12, 12};
  const int64_t wraps[] = {int64_t{1} << 32, int64_t{1} << 32, 12, 12};
  berth_tensor good = TensorOver(input);
  good.extents = extents;
  good.rank = 4;
  good.dtype = BERTH_FLOAT32;
  const berth_tensor to = TensorOver(output);
  const auto expect = [&](berth_tensor from, const std::string& part) {
    ExpectError(berth_context_run(context.get(), &from, 1, &to, 1, nullptr, nullptr),
                BERTH_INVALID_ARGUMENT, part);
  };
  EXPECT_API_OK(berth_context_run(context.get(), &good, 1, &to, 1, nullptr, nullptr));
  berth_tensor bad = good;
  expect((bad.dtype = BERTH_INT32, bad), "int32[1x3x12x12] given, float32[1x3x12x12] expected");
  expect((bad.dtype = 99, bad), "99 is no dtype");
  expect((bad.dtype = -1, bad), "-1 is no dtype");
  bad = good;
  expect((bad.size_bytes -= 4, bad), "1724 bytes given, float32[1x3x12x12] has 1728");
  bad = good;
  expect((bad.extents = other, bad), "float32[1x3x12x13] has 1872");
  expect((bad.extents = negative, bad), "-12");
  expect((bad.extents = wraps, bad), "input 0");
  expect((bad.extents = nullptr, bad), "null extents for rank 4");
  bad = good;
  expect((bad.rank = -1, bad), "rank -1");
  expect((bad.rank = 1 << 30, bad), "rank 1073741824");
  bad = good;
  expect((bad.data = nullptr, bad), "null data for 1728 bytes");
  bad = good;
  expect((bad.data = reinterpret_cast<char*>(input.data()) + 1, bad), "not aligned");
  bad = good;
  expect((bad.data = output.data(), bad), "output 0 overlaps input 0");
  // A failed run leaves the context as it was.
  EXPECT_API_OK(Run());
}

TEST_F(CApi, StructsMayBeOlderOrNewer) {
  struct {
    berth_run_options known = berth_run_options_init();
    int64_t added = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  EXPECT_API_OK(Run(&newer.known));
  newer.added = 1;
  ExpectError(Run(&newer.known), BERTH_UNIMPLEMENTED, "options: byte 24 is set");
  berth_run_options older = berth_run_options_init();
  older.timeout_ns = 1;  // behind what an older caller has
  older.struct_size = offsetof(berth_run_options, timeout_ns);
  EXPECT_API_OK(Run(&older));
  for (const size_t size : {size_t{0}, size_t{7}, SIZE_MAX}) {
    older.struct_size = size;
    ExpectError(Run(&older), BERTH_INVALID_ARGUMENT, "struct_size");
  }
  berth_memory memory = berth_memory_init();
  memory.struct_size = offsetof(berth_memory, arena_bytes);
  memory.arena_bytes = -7;
  EXPECT_API_OK(berth_program_memory(program.get(), &memory));
  EXPECT_GT(memory.constants_bytes, 0);
  EXPECT_EQ(memory.arena_bytes, -7) << "written behind the caller's struct";
}

TEST_F(CApi, OptionsOutOfRangeAreErrors) {
  berth_run_options run = berth_run_options_init();
  run.mode = 3;
  ExpectError(Run(&run), BERTH_INVALID_ARGUMENT, "mode 3");
  run = berth_run_options_init();
  run.timeout_ns = -1;
  ExpectError(Run(&run), BERTH_INVALID_ARGUMENT, "timeout_ns -1");
  berth_load_options load = berth_load_options_init();
  berth_program* loaded = nullptr;
  load.level = 2;
  ExpectError(berth_program_load(bundle.path.c_str(), &load, &loaded), BERTH_INVALID_ARGUMENT,
              "level 2");
  load = berth_load_options_init();
  load.cache_bytes = -1;
  ExpectError(berth_program_load(bundle.path.c_str(), &load, &loaded), BERTH_INVALID_ARGUMENT,
              "cache_bytes -1");
  berth_context_options options = berth_context_options_init();
  berth_context* made = nullptr;
  options.threads = -1;
  ExpectError(berth_context_create(program.get(), pool.get(), &options, &made),
              BERTH_INVALID_ARGUMENT, "threads");
  options.threads = 1;
  options.poison_before_run = 2;
  ExpectError(berth_context_create(program.get(), pool.get(), &options, &made),
              BERTH_INVALID_ARGUMENT, "poison_before_run");
  EXPECT_EQ(loaded, nullptr);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApi, LoadsFromMemory) {
  const std::string bytes = ReadBytes(bundle.path);
  for (const size_t shift : {size_t{0}, size_t{1}}) {  // a copy, so that alignment does not matter
    std::string moved(shift, '\0');
    moved += bytes;
    berth_program* made = nullptr;
    EXPECT_API_OK(berth_program_load_memory(moved.data() + shift, bytes.size(), nullptr, &made));
    moved.assign(moved.size(), '\0');
    program.reset(made);
    context = MakeContextHandle(program, pool);
    EXPECT_API_OK(Run());
  }
  berth_load_options options = berth_load_options_init();
  options.borrow_memory = 1;
  std::vector<std::byte> room(bytes.size() + 2 * kBundleAlignmentBytes);
  std::byte* aligned = room.data();
  while (reinterpret_cast<uintptr_t>(aligned) % kBundleAlignmentBytes != 0) ++aligned;
  std::memcpy(aligned, bytes.data(), bytes.size());
  berth_program* made = nullptr;
  EXPECT_API_OK(berth_program_load_memory(aligned, bytes.size(), &options, &made));
  program.reset(made);
  context = MakeContextHandle(program, pool);
  EXPECT_API_OK(Run());
  made = nullptr;
  ExpectError(berth_program_load_memory(aligned + 8, bytes.size() - 8, &options, &made),
              BERTH_INVALID_ARGUMENT, "not aligned to 64");
  ExpectError(berth_program_load_memory(aligned, bytes.size() / 2, nullptr, &made), BERTH_DATA_LOSS,
              "in memory");
  ExpectError(berth_program_load_memory(aligned, 0, nullptr, &made), BERTH_INVALID_ARGUMENT,
              "no size");
  ExpectError(berth_program_load("no such file", nullptr, &made), BERTH_NOT_FOUND, "no such file");
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApi, CancelAndTimeoutStopARun) {
  EXPECT_API_OK(berth_context_cancel(context.get()));
  EXPECT_EQ(Run(), BERTH_CANCELLED);
  EXPECT_API_OK(Run());
  berth_run_options options = berth_run_options_init();
  options.timeout_ns = 1;
  EXPECT_EQ(Run(&options), BERTH_DEADLINE_EXCEEDED);
  options.timeout_ns = INT64_MAX;
  EXPECT_API_OK(Run(&options));
}

TEST(CApiState, StatesAreKeptReadAndSet) {
  const BundleOnDisk bundle(CompileRunningSum());
  const ProgramHandle program = LoadProgram(bundle.path);
  const PoolHandle pool = MakePool();
  const ContextHandle context = MakeContextHandle(program, pool);
  ASSERT_EQ(berth_program_state_count(program.get()), 1u);
  ASSERT_EQ(berth_program_input_count(program.get()), 1u);
  berth_tensor_info info = berth_tensor_info_init();
  EXPECT_API_OK(berth_program_state(program.get(), 0, &info));
  EXPECT_EQ(info.size_bytes, 24);
  std::vector<float> ones(6, 1.0f), sums(6);
  const berth_tensor from = TensorOver(ones), to = TensorOver(sums);
  const auto run = [&] {
    EXPECT_API_OK(berth_context_run(context.get(), &from, 1, &to, 1, nullptr, nullptr));
    return sums[5];
  };
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 2);
  berth_tensor state = {};
  EXPECT_API_OK(berth_context_get_state(context.get(), 0, &state));
  EXPECT_EQ(static_cast<const float*>(state.data)[0], 2);
  EXPECT_EQ(state.rank, 2);
  std::vector<float> tens(6, 10.0f);
  const berth_tensor set = TensorOver(tens);
  EXPECT_API_OK(berth_context_set_state(context.get(), 0, &set));
  EXPECT_EQ(run(), 11);
  EXPECT_API_OK(berth_context_reset_states(context.get()));
  EXPECT_EQ(run(), 1);
  ExpectError(berth_context_get_state(context.get(), 1, &state), BERTH_INVALID_ARGUMENT,
              "state 1 of 1");
}

}  // namespace
}  // namespace berth

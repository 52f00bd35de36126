// The file of a dynamic model: it runs as it was compiled, and damaged it never crashes.
#include "runtime/bundle/bundle.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

TEST(DynamicBundle, RunsFromItsFile) {
  const ModelBuilder model = DynamicNetwork(false);
  const ScratchFolder folder;
  const auto contents = CompileModel(folder.Write("m.onnx", model.model), DynamicCompileOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  const std::string path = (folder.path() / "m.berth").string();
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  for (const LoadLevel level : {LoadLevel::kFull, LoadLevel::kTrusted}) {
    const auto program = Program::Load(path, level, TestDynamicOptions());
    ASSERT_TRUE(program.ok()) << program.status();
    ArenaPool pool;
    const auto context = ContextOf(*program, pool);
    RunAndCompare(*context, model, {UniformTensor({2, 3, 8, 8}, 1)});
    RunAndCompare(*context, model, {UniformTensor({1, 3, 8, 8}, 1)});
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Program::Load(path).status()));
}

// A forged file is refused, or it is a model that runs or fails with an error.
TEST(DynamicBundle, ForgedBytesNeverCrash) {
  const ScratchFolder folder;
  const auto contents =
      CompileModel(folder.Write("m.onnx", DynamicNetwork(false).model), DynamicCompileOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  const std::string path = (folder.path() / "m.berth").string();
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  const BundleFile original(ReadBytes(path));
  const SectionEntry& metadata = original.table[0];
  constexpr uint64_t kSeed = 17;
  std::mt19937_64 random(kSeed);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    BundleFile forged(original);
    const size_t at = metadata.offset_bytes + random() % metadata.size_bytes;
    forged.bytes[at] = static_cast<char>(random());
    forged.Rehash();
    const std::string file = folder.Write("forged.berth", forged.Packed());
    const auto program = Program::Load(file, LoadLevel::kFull, TestDynamicOptions());
    if (!program.ok()) {
      ++refused;
      continue;
    }
    ArenaPool pool;
    const auto context = Context::Create(*program, pool);
    if (!context.ok()) continue;
    (void)RunOnly(**context, {UniformTensor({1, 3, 8, 8}, 1)});
  }
  EXPECT_GT(refused, 30) << "seed " << kSeed;
}

}  // namespace
}  // namespace berth

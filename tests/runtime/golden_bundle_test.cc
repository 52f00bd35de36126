// Every truncation and every flipped byte of small bundles, fully verified: refused, or the same
// answer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/bundle_file.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

constexpr size_t kFixedBytes = sizeof(FileHeader) + kSectionCount * sizeof(SectionEntry);

using Answer = std::vector<std::byte>;

// A file whose bytes change in place.
class FileInPlace {
 public:
  explicit FileInPlace(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0) << path;
  }
  ~FileInPlace() { close(fd_); }
  FileInPlace(const FileInPlace&) = delete;
  FileInPlace& operator=(const FileInPlace&) = delete;

  void Set(size_t at, char byte) { EXPECT_EQ(pwrite(fd_, &byte, 1, static_cast<off_t>(at)), 1); }
  void Truncate(size_t size_bytes) { EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size_bytes)), 0); }

 private:
  int fd_;
};

// A dynamic one may hold the plan of its largest shape, which is a bundle itself.
enum class Kind { kStatic, kDynamic, kDynamicWithPlan };

class GoldenBundle : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const bool is_dynamic = GetParam() != Kind::kStatic;
    auto contents = CompileSmall({is_dynamic ? -1 : 2, 4});
    ASSERT_TRUE(contents.ok()) << contents.status();
    ASSERT_EQ(contents->dynamic.has_value(), is_dynamic);
    ASSERT_EQ(is_dynamic && contents->dynamic->maximum.has_value(),
              GetParam() == Kind::kDynamicWithPlan);
    ASSERT_TRUE(WriteBundle(path_, *contents).ok());
    bytes_ = ReadBytes(path_);
    const auto program = Load();
    ASSERT_TRUE(program.ok()) << program.status();
    answer_ = AnswerOf(*program);
    ASSERT_FALSE(answer_.empty());
  }

  static absl::StatusOr<BundleContents> CompileSmall(const std::vector<int64_t>& input) {
    ModelBuilder b(13, "golden");
    b.Input("x", input);
    b.Floats("w", {4, 3}, {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12});
    b.Node("MatMul", {"x", "w"}, {"p"});
    b.Node("Relu", {"p"}, {"y"});
    b.Output("y", {input[0], 3});
    const ScratchFolder folder;
    CompileOptions options = DynamicCompileOptions();
    if (GetParam() == Kind::kDynamicWithPlan) options.ranges = {{"d0", 1, 2}};
    return CompileModel(folder.Write("m.onnx", b.model), options);
  }

  absl::StatusOr<std::shared_ptr<const Program>> Load() const {
    return Program::Load(path_, LoadLevel::kFull,
                         GetParam() == Kind::kStatic ? DynamicOptions() : TestDynamicOptions());
  }

  static Answer AnswerOf(const std::shared_ptr<const Program>& program) {
    ArenaPool pool;
    const auto context = ContextOf(program, pool);
    const Tensor input = UniformTensor({2, 4}, 3);
    std::vector<Tensor> outputs;
    const absl::Status status = context->Run({input.view()}, outputs);
    EXPECT_TRUE(status.ok()) << status;
    Answer answer;
    for (const Tensor& output : outputs) {
      answer.insert(answer.end(), output.bytes().begin(), output.bytes().end());
    }
    return answer;
  }

  // Every byte of the small ones. The one with a plan takes much longer to load.
  static size_t StepAfter(size_t at) {
    return GetParam() == Kind::kDynamicWithPlan && at >= kFixedBytes ? 13 : 1;
  }

  // True where it was refused.
  bool RefusedOrSameAnswer(const std::string& what) {
    const auto program = Load();
    if (program.ok()) {
      EXPECT_EQ(AnswerOf(*program), answer_) << what;
      return false;
    }
    EXPECT_TRUE(absl::IsDataLoss(program.status())) << what << ": " << program.status();
    return true;
  }

  const ScratchFolder folder_;
  const std::string path_ = (folder_.path() / "golden.berth").string();
  std::string bytes_;
  Answer answer_;
};

TEST_P(GoldenBundle, EveryFlippedByteIsRefusedOrHarmless) {
  FileInPlace file(path_);
  std::vector<size_t> accepted;
  for (size_t at = 0; at < bytes_.size(); at += StepAfter(at)) {
    std::vector<int> flips = {static_cast<int>(1 + at * 37 % 255)};
    for (int bit = 0; at < kFixedBytes && bit < 8; ++bit) flips.push_back(1 << bit);
    for (const int flip : flips) {
      file.Set(at, static_cast<char>(bytes_[at] ^ flip));
      if (!RefusedOrSameAnswer(fmt::format("byte {} with {:#x}", at, flip))) accepted.push_back(at);
    }
    file.Set(at, bytes_[at]);
    if (HasFailure()) return;
  }
  // A newer minor version is accepted: header bytes 10 and 11.
  for (const size_t at : accepted) EXPECT_TRUE(at == 10 || at == 11) << "byte " << at;
  EXPECT_FALSE(accepted.empty());
}

TEST_P(GoldenBundle, EveryTruncationIsRefused) {
  FileInPlace file(path_);
  for (size_t cut = 1; cut <= bytes_.size(); cut += StepAfter(cut)) {
    const size_t length = bytes_.size() - cut;
    file.Truncate(length);
    EXPECT_TRUE(RefusedOrSameAnswer(fmt::format("{} bytes", length))) << length;
    if (HasFailure()) return;
  }
}

std::string NameOf(const ::testing::TestParamInfo<Kind>& info) {
  constexpr const char* kNames[] = {"Static", "Dynamic", "DynamicWithPlan"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, GoldenBundle,
                         ::testing::Values(Kind::kStatic, Kind::kDynamic, Kind::kDynamicWithPlan),
                         NameOf);

}  // namespace
}  // namespace berth

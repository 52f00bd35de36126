// Bundles on disk: the same contents come back, damage is refused, writes are whole or not at all.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <set>

#include "tests/planner/model_builder.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = WriteBundle(path_, contents_);
    ASSERT_TRUE(status.ok()) << status;
    bytes_ = ReadBytes(path_);
  }

  absl::Status OpenBytes(const std::string& bytes, LoadLevel level = LoadLevel::kFull) {
    return Bundle::Open(folder_.Write("damaged", bytes), level).status();
  }
  void ExpectRefused(const std::string& bytes, LoadLevel level = LoadLevel::kFull) {
    const absl::Status status = OpenBytes(bytes, level);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  size_t FileCount() const {
    const fs::directory_iterator files(folder_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  ScratchFolder folder_;
  const std::string path_ = (folder_.path() / "model.berth").string();
  const BundleContents contents_ = CompileSmallNetwork();
  std::string bytes_;
};

template <typename T>
bool SameBytes(absl::Span<const T> a, absl::Span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST_F(BundleTest, RoundTrip) {
  for (const LoadLevel level : {LoadLevel::kFull, LoadLevel::kTrusted}) {
    const auto bundle = Bundle::Open(path_, level);
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    const BundleContents& info = (*bundle)->info();
    const ProgramView program = (*bundle)->program(), expected = contents_.program.view();
    EXPECT_EQ(info.model_name, contents_.model_name);
    EXPECT_EQ(ToJson(info.config), ToJson(contents_.config));
    EXPECT_EQ(DumpProgram(program), DumpProgram(expected));
    EXPECT_TRUE(SameBytes(program.commands, expected.commands));
    EXPECT_EQ(program.waits, expected.waits);
    EXPECT_EQ(program.slots, expected.slots);
    EXPECT_EQ(program.engines, expected.engines);
    EXPECT_TRUE(SameBytes(program.regions, expected.regions));
    EXPECT_EQ(program.scratchpad_bytes, expected.scratchpad_bytes);
    EXPECT_EQ(program.accumulator_bytes, expected.accumulator_bytes);
    EXPECT_EQ((*bundle)->conflicts().successors, contents_.conflicts.view().successors);
    EXPECT_EQ((*bundle)->constants(), absl::MakeConstSpan(contents_.constants));
    EXPECT_EQ(info.buffer_names, contents_.buffer_names);
    EXPECT_EQ(info.inputs[0].name, contents_.inputs[0].name);
    EXPECT_EQ(info.outputs[0].type, contents_.outputs[0].type);
    ASSERT_EQ(info.ops.size(), contents_.ops.size());
    EXPECT_EQ(info.ops[0].decision, contents_.ops[0].decision);
    EXPECT_EQ(info.ops[0].macs, contents_.ops[0].macs);
    ASSERT_EQ(info.memories.size(), contents_.memories.size());
    EXPECT_EQ(info.memories[1].height_bytes, contents_.memories[1].height_bytes);
    EXPECT_EQ(info.cycles_lower_bound, contents_.cycles_lower_bound);
    EXPECT_EQ(info.dram_bytes_lower_bound, contents_.dram_bytes_lower_bound);
  }
}

TEST_F(BundleTest, WrittenAgainTheBytesAreTheSame) {
  const auto bundle = Bundle::Open(path_, LoadLevel::kFull);
  ASSERT_TRUE(bundle.ok());
  const std::string second = (folder_.path() / "second").string();
  ASSERT_TRUE(WriteBundle(second, contents_).ok());
  EXPECT_EQ(ReadBytes(second), bytes_);
}

TEST_F(BundleTest, RunsFromDiskAndFromMemoryAlike) {
  const auto loaded = Program::Load(path_);
  const auto trusted = Program::Load(path_, LoadLevel::kTrusted);
  const auto in_memory = Program::FromContents(contents_);
  ASSERT_TRUE(loaded.ok() && trusted.ok() && in_memory.ok());
  const std::vector<std::byte> expected = RunOnce(*in_memory);
  EXPECT_EQ(RunOnce(*loaded), expected);
  EXPECT_EQ(RunOnce(*trusted), expected);
}

TEST_F(BundleTest, EveryHeaderFieldIsChecked) {
  const std::vector<std::function<void(FileHeader&)>> damages = {
      [](FileHeader& h) { h.magic[7] = 'X'; },
      [](FileHeader& h) { ++h.major; },
      [](FileHeader& h) { --h.major; },
      [](FileHeader& h) { ++h.section_count; },
      [](FileHeader& h) { h.section_count = 0; },
      [](FileHeader& h) { ++h.file_bytes; },
      [](FileHeader& h) { h.file_bytes = 0; },
      [](FileHeader& h) { ++h.target_fingerprint; },
      [](FileHeader& h) { h.table_hash ^= 1; },
      [](FileHeader& h) { h.reserved[0] = 1; },
      [](FileHeader& h) { h.reserved[2] = 1ull << 63; },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    SCOPED_TRACE(i);
    BundleFile file(bytes_);
    damages[i](file.header);
    ExpectRefused(file.Packed());
    ExpectRefused(file.Packed(), LoadLevel::kTrusted);
  }
  BundleFile newer(bytes_);
  ++newer.header.minor;
  EXPECT_TRUE(OpenBytes(newer.Packed()).ok());
}

TEST_F(BundleTest, EveryFieldOfTheSectionTableIsChecked) {
  const std::vector<std::function<void(SectionEntry&)>> damages = {
      [](SectionEntry& e) { ++e.kind; },
      [](SectionEntry& e) { e.reserved = 1; },
      [](SectionEntry& e) { e.offset_bytes += kBundlePageBytes; },
      [](SectionEntry& e) { e.offset_bytes = ~0ull - 4095; },
      [](SectionEntry& e) { e.size_bytes = ~0ull; },
      [](SectionEntry& e) { ++e.size_bytes; },
      [](SectionEntry& e) { e.size_bytes += kBundlePageBytes; },
      [](SectionEntry& e) { e.hash ^= 1; },
  };
  for (uint32_t section = 0; section < kSectionCount; ++section) {
    for (size_t i = 0; i < damages.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "section " << section << ", damage " << i);
      BundleFile file(bytes_);
      damages[i](file.table[section]);
      file.RehashTable();
      ExpectRefused(file.Packed());
    }
  }
}

TEST_F(BundleTest, TruncationIsRefused) {
  const BundleFile file(bytes_);
  std::set<size_t> lengths = {0, 1, 63, 64, 65, 319, 320, 321};
  for (const SectionEntry& entry : file.table) {
    for (const size_t edge : {entry.offset_bytes, entry.offset_bytes + entry.size_bytes}) {
      for (const size_t length : {edge - 1, edge, edge + 1}) lengths.insert(length);
    }
  }
  for (size_t length = 0; length < bytes_.size(); length += 977) lengths.insert(length);
  for (const size_t length : lengths) {
    if (length >= bytes_.size()) continue;
    SCOPED_TRACE(length);
    ExpectRefused(bytes_.substr(0, length));
    BundleFile agreed(bytes_.substr(0, std::max<size_t>(length, kBundlePageBytes)));
    agreed.header.file_bytes = agreed.bytes.size();  // the header says the new length
    if (agreed.bytes.size() < bytes_.size()) ExpectRefused(agreed.Packed());
  }
  ExpectRefused(bytes_ + std::string(1, '\0'));
  ExpectRefused(bytes_ + std::string(kBundlePageBytes, '\0'));
}

TEST_F(BundleTest, FlippedBytesAreRefusedOrHarmless) {
  const uint32_t seed = 99;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::byte> expected = RunOnce(*Program::Load(path_));
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes_;
    const size_t span = round % 4 == 0 ? 320 : bytes_.size();  // header and table more often
    const size_t at = std::uniform_int_distribution<size_t>(0, span - 1)(random);
    damaged[at] = static_cast<char>(damaged[at] ^ std::uniform_int_distribution<>(1, 255)(random));
    const auto program = Program::Load(folder_.Write("damaged", damaged));
    refused += !program.ok();
    if (program.ok()) {
      EXPECT_EQ(RunOnce(*program), expected) << "byte " << at;
    } else {
      EXPECT_TRUE(absl::IsDataLoss(program.status())) << program.status();
    }
  }
  EXPECT_GT(refused, 380);  // only a newer minor version is accepted
}

// With hashes that agree, safety rests on the proof alone: what opens also runs within its memory
// (values may be others, for the bytes say so).
TEST_F(BundleTest, ForgedBytesAreRefusedOrSafe) {
  const uint32_t seed = 123;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    BundleFile file(bytes_);
    const SectionEntry& entry = file.table[static_cast<size_t>(round) % kSectionCount];
    if (entry.size_bytes == 0) continue;
    const size_t at =
        entry.offset_bytes + std::uniform_int_distribution<size_t>(0, entry.size_bytes - 1)(random);
    file.bytes[at] =
        static_cast<char>(file.bytes[at] ^ (1 << std::uniform_int_distribution<>(0, 7)(random)));
    file.Rehash();
    const std::string path = folder_.Write("forged", file.Packed());
    (void)Bundle::Open(path, LoadLevel::kTrusted);
    const auto program = Program::Load(path);
    refused += !program.ok();
    if (!program.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(program.status())) << program.status();
      continue;
    }
    ArenaPoolOptions limited;
    limited.limit_bytes = 64 << 20;  // the forged memories may be larger
    ArenaPool pool(limited);
    RunBuffers buffers(**program);
    const auto context = Context::Create(*program, pool);
    if (context.ok()) (void)(*context)->Run(buffers.input_views, buffers.output_views);
  }
  EXPECT_GT(refused, 100);
}

TEST_F(BundleTest, WhatIsNoBundle) {
  EXPECT_TRUE(absl::IsNotFound(Bundle::Open(path_ + "x", LoadLevel::kFull).status()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Bundle::Open(folder_.path().string(), LoadLevel::kFull).status()));
  ExpectRefused("");
  ExpectRefused(std::string(10000, 'x'));
}

TEST_F(BundleTest, FailedWritesLeaveNothingBehind) {
  const size_t before = FileCount();
  EXPECT_FALSE(WriteBundle((folder_.path() / "missing/model.berth").string(), contents_).ok());
  const fs::path taken = folder_.path() / "taken";
  fs::create_directories(taken / "inside");  // no file can take its place
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteBundle(taken.string(), contents_)));
  EXPECT_EQ(FileCount(), before + 1);
}

TEST_F(BundleTest, AWriteThatFailsHalfWayLeavesTheOldFile) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = bytes_.size() / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::Status status = WriteBundle(path_, contents_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(ReadBytes(path_), bytes_);
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(BundleTest, ContentsInMemoryAreProvedToo) {
  BundleContents broken = contents_;
  ASSERT_FALSE(broken.program.slots.empty());
  --broken.program.slots[0].end_command;
  EXPECT_TRUE(absl::IsDataLoss(Bundle::FromContents(broken, LoadLevel::kFull).status()));
  broken = contents_;
  --broken.conflicts.successors.back();
  EXPECT_TRUE(absl::IsDataLoss(Bundle::FromContents(broken, LoadLevel::kFull).status()));
  broken = contents_;
  broken.conflicts.successor_begin[1] = ~0u;  // beyond the successors, in the middle
  EXPECT_TRUE(absl::IsDataLoss(Bundle::FromContents(broken, LoadLevel::kFull).status()));
  broken = contents_;
  broken.constants.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(Bundle::FromContents(broken, LoadLevel::kTrusted).status()));
  broken = contents_;
  broken.inputs.clear();
  EXPECT_TRUE(absl::IsDataLoss(Bundle::FromContents(broken, LoadLevel::kTrusted).status()));
}

}  // namespace
}  // namespace berth

// Files whose hashes agree with their bytes: nothing but structural checks and the proof stands
// between them and the machine. What is accepted runs under the sanitizer, which must find nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "npu_sim/verify.h"
#include "tests/npu_sim/example_program.h"
#include "tests/npu_sim/sanitizer_testing.h"
#include "tests/planner/model_builder.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

// Many times as much, for a long search, where the environment says how many times.
int Rounds(int rounds) {
  const char* times = std::getenv("BERTH_FORGED_TIMES");
  return times == nullptr ? rounds : rounds * std::max(1, std::atoi(times));
}

constexpr int64_t kMostRegionBytes = 1 << 20;
constexpr int64_t kMostSteps = int64_t{1} << 24;  // of a command that is worth executing

// Changes fields of plain records: to values that checks forget, or to those of another record.
class Forger {
 public:
  explicit Forger(uint64_t seed) : random_(seed) {}

  size_t Pick(size_t count) { return random_() % count; }

  template <typename Record>
  void Forge(std::vector<Record>& records) {
    if (records.empty()) return;
    static constexpr size_t kWidths[] = {1, 2, 4, 8};
    size_t width = kWidths[Pick(4)];
    while (width > sizeof(Record)) width /= 2;
    const size_t at = Pick(sizeof(Record) / width) * width;
    auto* field = reinterpret_cast<char*>(&records[Pick(records.size())]) + at;
    if (Pick(3) == 0) {
      std::memcpy(field, reinterpret_cast<const char*>(&records[Pick(records.size())]) + at, width);
      return;
    }
    int64_t value = 0;
    std::memcpy(&value, field, width);
    value = Other(value, width);
    std::memcpy(field, &value, width);
  }

  int64_t Other(int64_t value, size_t width) {
    const int64_t top = int64_t{1} << (8 * width - 1 - (width == 8 ? 1 : 0));
    const int64_t others[] = {
        0,          1,         -1,     value + 1,  value - 1,
        value * 2,  value / 2, -value, value + 4,  value - 4,
        value + 64, top - 1,   top,    value ^ 16, static_cast<int64_t>(random_() % 300)};
    return others[Pick(std::size(others))];
  }

 private:
  std::mt19937_64 random_;
};

bool IsQuickToRun(const TileProgram& program) {
  int64_t region_bytes = 0;
  for (const DramRegion& region : program.regions) region_bytes += region.size_bytes;
  if (region_bytes > kMostRegionBytes) return false;
  for (const Command& c : program.commands) {
    int64_t steps = 1;
    for (const int32_t extent : c.extent) steps *= extent;
    const Window& w =
        EngineOf(c.opcode) == EngineKind::kMatrix ? c.params.matrix.window : c.params.vector.window;
    if (c.opcode == Opcode::kConv || c.opcode == Opcode::kDepthwise || c.opcode == Opcode::kPool) {
      steps *= int64_t{w.kernel_height} * w.kernel_width;
    }
    if (steps > kMostSteps) return false;
  }
  return true;
}

void ForgeOnce(Forger& forger, TileProgram& program) {
  switch (forger.Pick(12)) {
    case 0:
      return forger.Forge(program.engines);
    case 1:
      return forger.Forge(program.regions);
    case 2:
    case 3:
      return forger.Forge(program.waits);
    case 4:
    case 5:
      return forger.Forge(program.slots);
    case 6:
      std::swap(program.commands[forger.Pick(program.commands.size())],
                program.commands[forger.Pick(program.commands.size())]);
      return;
    default:
      return forger.Forge(program.commands);
  }
}

// Forges the program again and again; returns how many of the results were run.
int RunForged(uint64_t seed, const TileProgram& whole, const NpuConfig& config, int rounds) {
  Forger forger(seed);
  int run = 0;
  for (int round = 0; round < rounds; ++round) {
    TileProgram program = whole;
    for (size_t i = 0; i <= forger.Pick(2); ++i) ForgeOnce(forger, program);
    const absl::Status proof = VerifyProgram(program.view(), config);
    EXPECT_TRUE(proof.ok() || absl::IsDataLoss(proof)) << proof;
    if (!proof.ok() || !IsQuickToRun(program)) continue;
    const SanitizerReport report = testing_support::Sanitize(program, config);
    EXPECT_EQ(report.finding_count, 0) << "seed " << seed << ", round " << round << "\n"
                                       << testing_support::TextOf(report);
    ++run;
  }
  return run;
}

TEST(ForgedProgram, WhatTheProofAcceptsTheSanitizerDoes) {
  const BundleContents small = CompileSmallNetwork();
  const int run = RunForged(20261130, small.program, small.config, Rounds(600));
  EXPECT_GT(run, 50);
  EXPECT_LT(run, Rounds(400));
}

TEST(ForgedProgram, WhatTheProofAcceptsTheSanitizerDoesOfTheExample) {
  const int run =
      RunForged(7, testing_support::ExampleProgram(), *LoadTarget("edge"), Rounds(4000));
  EXPECT_GT(run, 500);
  EXPECT_LT(run, Rounds(2500));
}

// Without the proof before it the sanitizer alone keeps broken programs from leaving their memory.
TEST(ForgedProgram, TheSanitizerSurvivesWhatTheProofRefuses) {
  const uint64_t seed = 97;
  SCOPED_TRACE(seed);
  Forger forger(seed);
  const BundleContents contents = CompileSmallNetwork();
  int found = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    TileProgram program = contents.program;
    for (int i = 0; i < 3; ++i) {
      if (const size_t table = forger.Pick(3); table == 0) {
        forger.Forge(program.slots);
      } else if (table == 1) {
        forger.Forge(program.waits);
      } else {
        forger.Forge(program.commands);
      }
    }
    if (!IsQuickToRun(program)) continue;
    found += testing_support::Sanitize(program, contents.config).finding_count > 0 ? 1 : 0;
  }
  EXPECT_GT(found, 100);
}

void ForgeType(Forger& forger, TensorInfo& info) {
  std::vector<int64_t> extents(info.type.shape.begin(), info.type.shape.end());
  if (extents.empty() || forger.Pick(3) == 0) {
    info.type.dtype = static_cast<DType>(forger.Pick(kDTypeCount));
    return;
  }
  int64_t& extent = extents[forger.Pick(extents.size())];
  extent = forger.Other(extent, 8);
  if (auto shape = Shape::Create(extents); shape.ok()) info.type.shape = *std::move(shape);
}

void ForgeMetadata(Forger& forger, BundleContents& contents) {
  switch (forger.Pick(8)) {
    case 0:
      return ForgeType(forger, contents.inputs[0]);
    case 1:
      return ForgeType(forger, contents.outputs[0]);
    case 2:
      return forger.Forge(contents.program.regions);
    case 3:
      contents.program.scratchpad_bytes = forger.Other(contents.program.scratchpad_bytes, 8);
      return;
    case 4:
      contents.program.accumulator_bytes = forger.Other(contents.program.accumulator_bytes, 8);
      return;
    case 5: {
      ValueInfo& value = contents.values[forger.Pick(contents.values.size())];
      value.source = static_cast<int32_t>(forger.Other(value.source, 4));
      value.offset_bytes = forger.Other(value.offset_bytes, 8);
      value.slot = static_cast<uint32_t>(forger.Other(value.slot, 4));
      return;
    }
    case 6:
      contents.inputs.push_back(contents.inputs[0]);
      return;
    default:
      contents.constants.resize(forger.Pick(2 * contents.constants.size()));
      return;
  }
}

TEST(ForgedProgram, ForgedMetadataIsRefusedOrSafe) {
  const uint64_t seed = 4242;
  SCOPED_TRACE(seed);
  Forger forger(seed);
  const ScratchFolder folder;
  const std::string path = (folder.path() / "forged.berth").string();
  const BundleContents original = CompileSmallNetwork();
  int refused = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    BundleContents contents = original;
    ForgeMetadata(forger, contents);
    ASSERT_TRUE(WriteBundle(path, contents).ok());
    const auto program = Program::Load(path);
    if (!program.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(program.status())) << program.status();
      ++refused;
      continue;
    }
    ArenaPoolOptions limited;
    limited.limit_bytes = 64 << 20;
    ArenaPool pool(limited);
    RunBuffers buffers(**program);
    const auto context = Context::Create(*program, pool);
    if (!context.ok()) continue;
    SanitizerReport report;
    RunOptions options;
    options.sanitizer = &report;
    const absl::Status status = (*context)->Run(buffers.input_views, buffers.output_views, options);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace berth

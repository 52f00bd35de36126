// Bundles that lie: each kind is refused with section, table and index. Their hashes agree.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "base/checked_math.h"
#include "kernels/host_functions.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/dynamic_testing.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HostileBundle : public ::testing::Test {
 protected:
  // What is said of contents, written and read again.
  std::string Refusal(const BundleContents& contents) {
    const absl::Status written = WriteBundle(path_, contents);
    EXPECT_TRUE(written.ok()) << written;
    return RefusalOfFile();
  }
  std::string Refusal(const std::function<void(BundleContents&)>& change) {
    BundleContents contents = contents_;
    change(contents);
    return Refusal(contents);
  }
  std::string RefusalOfFile() {
    const absl::Status status = Bundle::Open(path_, LoadLevel::kFull).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return std::string(ToStd(status.message()));
  }
  // The metadata's bytes change, hashes follow.
  std::string RefusalOfMetadata(const BundleContents& contents,
                                const std::function<void(char*, size_t)>& change) {
    EXPECT_TRUE(WriteBundle(path_, contents).ok());
    BundleFile file(ReadBytes(path_));
    change(file.bytes.data() + file.table[0].offset_bytes, file.table[0].size_bytes);
    file.Rehash();
    folder_.Write("hostile.berth", file.Packed());
    return RefusalOfFile();
  }

  const ScratchFolder folder_;
  const std::string path_ = (folder_.path() / "hostile.berth").string();
  const BundleContents contents_ = CompileSmallNetwork();
};

// Wherever these extents stand, others of as many dimensions.
void ReplaceExtents(char* bytes, size_t size, const std::vector<int64_t>& from,
                    const std::vector<int64_t>& to) {
  const size_t length = from.size() * sizeof(int64_t);
  const std::string pattern(reinterpret_cast<const char*>(from.data()), length);
  int replaced = 0;
  for (std::string_view all(bytes, size); all.find(pattern) != all.npos; ++replaced) {
    std::memcpy(bytes + all.find(pattern), to.data(), length);
  }
  EXPECT_GT(replaced, 0);
}

TEST_F(HostileBundle, ExtentsWhoseProductWrapsOrIsNone) {
  constexpr int64_t kHalf = int64_t{1} << 32;
  const std::vector<int64_t> input = {1, 3, 12, 12};
  const std::vector<std::vector<int64_t>> lies = {
      {kHalf, kHalf, 1, 1},                  // 2^64: wraps to exactly zero
      {kHalf, kHalf, 12, 12},                // a multiple of it
      {kHalf + 1, kHalf, 3, 1},              // wraps to something small
      {INT64_MAX, INT64_MAX, INT64_MAX, 3},  // far beyond
      {1, 3, INT64_MAX, 12},
      {1, 3, -12, 12},
      {INT64_MIN, 3, 12, 12},
  };
  for (const std::vector<int64_t>& lie : lies) {
    EXPECT_THAT(
        RefusalOfMetadata(
            contents_, [&](char* bytes, size_t size) { ReplaceExtents(bytes, size, input, lie); }),
        HasSubstr("section 0 (metadata), inputs 0: "));
  }
  // Zero elements beside an extent that would wrap, and sizes that are not the region's.
  for (const std::vector<int64_t>& lie :
       std::vector<std::vector<int64_t>>{{0, kHalf, kHalf, 1}, {0, 3, 12, 12}, {1, 3, 12, 13}}) {
    EXPECT_THAT(
        RefusalOfMetadata(
            contents_, [&](char* bytes, size_t size) { ReplaceExtents(bytes, size, input, lie); }),
        HasSubstr("section 0 (metadata), "));
  }
}

TEST_F(HostileBundle, MetadataWithoutTheirTables) {
  const std::vector<uint32_t> nothing = {8, 4 | 4 << 16, 4};  // a root table without fields
  EXPECT_THAT(RefusalOfMetadata(
                  contents_, [&](char* bytes, size_t) { std::memcpy(bytes, nothing.data(), 12); }),
              HasSubstr("section 0 (metadata): not a FlatBuffer of this schema"));
  EXPECT_THAT(RefusalOfMetadata(contents_,
                                [&](char* bytes, size_t size) { std::memset(bytes, 0xff, size); }),
              HasSubstr("section 0 (metadata): not a FlatBuffer of this schema"));
}

// Where the string stands whose bytes these are: its length is before it.
size_t FindText(std::string_view bytes, const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  std::string pattern(reinterpret_cast<const char*>(&length), sizeof(length));
  return bytes.find(pattern + text);
}

TEST_F(HostileBundle, NamesThatAreOneStringAThousandTimes) {
  constexpr uint32_t kNames = 20'000;
  BundleContents contents = contents_;
  contents.model_name.assign(100'000, 'm');
  for (uint32_t i = 0; i < kNames; ++i) contents.buffer_names.push_back("k");
  contents.buffer_names[0] = "first name of all";
  contents.buffer_names[1] = "second name of all";
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const std::string refusal = RefusalOfMetadata(contents, [&](char* bytes, size_t size) {
    const std::string_view all(bytes, size);
    const size_t first = FindText(all, contents.buffer_names[0]);
    const size_t second = FindText(all, contents.buffer_names[1]);
    const size_t bomb = FindText(all, contents.model_name);
    ASSERT_NE(bomb, all.npos);
    size_t list = 0;  // where the offsets to the names stand
    const auto at = [&](size_t position) {
      uint32_t value;
      std::memcpy(&value, bytes + position, sizeof(value));
      return position + value;
    };
    while (list + 8 < size && (at(list) != first || at(list + 4) != second)) list += 4;
    ASSERT_LT(list + 8, size);
    for (uint32_t i = 0; i < kNames; ++i) {
      const size_t position = list + 4 * i;
      if (position > bomb) break;  // offsets lead forward
      const auto offset = static_cast<uint32_t>(bomb - position);
      std::memcpy(bytes + position, &offset, sizeof(offset));
    }
  });
  EXPECT_THAT(refusal, AllOf(HasSubstr("section 0 (metadata)"), HasSubstr("again and again")));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
}

// The list of regions moves into a name, to where its count may stand but no region.
TEST_F(HostileBundle, ListsThatAreNotAligned) {
  constexpr size_t kRegionBytes = 16;
  BundleContents contents = contents_;
  contents.model_name.assign(1000, 'm');
  const auto count = static_cast<uint32_t>(contents.program.regions.size());
  const int64_t first_bytes = contents.program.regions[0].size_bytes;
  std::string pattern(reinterpret_cast<const char*>(&count), sizeof(count));
  pattern.append(reinterpret_cast<const char*>(&first_bytes), sizeof(first_bytes));
  const std::string refusal = RefusalOfMetadata(contents, [&](char* bytes, size_t size) {
    const std::string_view all(bytes, size);
    const size_t list = all.find(pattern), text = FindText(all, contents.model_name);
    ASSERT_NE(list, all.npos);
    ASSERT_NE(text, all.npos);
    size_t field = 0;  // where the offset to the list stands
    uint32_t offset = 0;
    do {
      field += sizeof(offset);
      ASSERT_LT(field, list);
      std::memcpy(&offset, bytes + field, sizeof(offset));
    } while (field + offset != list);
    const size_t moved = AlignUp(static_cast<int64_t>(text + sizeof(count)), 8);
    std::memcpy(bytes + moved, bytes + list, sizeof(count) + count * kRegionBytes);
    offset = static_cast<uint32_t>(moved - field);
    std::memcpy(bytes + field, &offset, sizeof(offset));
  });
  EXPECT_THAT(refusal, HasSubstr("section 0 (metadata): a list of numbers begins where"));
}

TEST_F(HostileBundle, PositionsBeyondTheirTables) {
  EXPECT_THAT(Refusal([](auto& c) { c.program.commands[3].op = 1000; }),
              HasSubstr("section 2 (commands), index 3: op 1000 of"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.slots[5].name = 70000; }),
              HasSubstr("section 4 (slots), index 5: name 70000 of"));
  EXPECT_THAT(Refusal([](auto& c) { c.values[0].source = 1000; }),
              HasSubstr("section 0 (metadata), values 0: storage 0, source 1000 of"));
  EXPECT_THAT(Refusal([](auto& c) { c.values[1].region = 9; }), HasSubstr("region 9 of 4"));
  EXPECT_THAT(Refusal([](auto& c) { c.values[1].end_op = 1u << 30; }), HasSubstr("values 1"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.regions[2].index = 4; }),
              HasSubstr("section 0 (metadata), regions 2: input 4"));
  EXPECT_THAT(Refusal([](auto& c) {
                c.states.push_back({"s", 5, 0, {}});
              }),
              HasSubstr("section 0 (metadata), states 0: input 5 of 1"));
  EXPECT_THAT(Refusal([](auto& c) { c.conflicts.successors[0] = 1u << 30; }),
              HasSubstr("section 7 (successors), index 0"));
  EXPECT_THAT(Refusal([](auto& c) { c.conflicts.predecessor_count[2] += 1; }),
              HasSubstr("section 5 (predecessor counts), index 2"));
}

TEST_F(HostileBundle, ValuesThatAreTheirOwnSource) {
  EXPECT_THAT(Refusal([](auto& c) { c.values[1].source = 1; }),
              HasSubstr("section 0 (metadata), values 1: is a source of itself"));
  EXPECT_THAT(Refusal([](auto& c) {
                c.values[0].source = 2;
                c.values[2].source = 0;
              }),
              HasSubstr("is a source of itself"));
}

TEST_F(HostileBundle, TypesThatContradict) {
  EXPECT_THAT(Refusal([](auto& c) { c.outputs[0].type.dtype = static_cast<DType>(99); }),
              HasSubstr("section 0 (metadata), outputs 0: dtype 99"));
  EXPECT_THAT(Refusal([](auto& c) { c.outputs[0].type.dtype = DType::kFloat64; }),
              HasSubstr("output 0 of 40 bytes does not match the interface"));
  EXPECT_THAT(Refusal([](auto& c) {
                c.outputs[0].type.shape = Shape{1, 10, 2};
              }),
              HasSubstr("does not match the interface"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.commands[0].out.dtype = DType::kInt8; }),
              HasSubstr("command 0 (dma0 dma_load, op 0): "));
}

TEST_F(HostileBundle, MemoriesThatAreNotThoseOfTheMachine) {
  EXPECT_THAT(Refusal([](auto& c) { c.program.scratchpad_bytes = int64_t{1} << 40; }),
              HasSubstr("scratchpad of 1099511627776 bytes, the machine has"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.accumulator_bytes = -1; }),
              HasSubstr("accumulator of -1 bytes"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.regions[1].size_bytes = INT64_MAX; }),
              HasSubstr("region 1"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.regions[1].kind = RegionKind::kConstants; }),
              HasSubstr("need one of constants, one pool"));
  EXPECT_THAT(Refusal([](auto& c) { c.program.engines[1] = c.program.engines[0]; }),
              HasSubstr("engine 1 (dma0) is not of small or stands twice"));
}

TEST_F(HostileBundle, NamesThatAreNoneOrTheSame) {
  for (const char* name : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80"}) {
    EXPECT_THAT(Refusal([&](auto& c) { c.inputs[0].name = name; }),
                HasSubstr("section 0 (metadata), inputs 0: its name is not UTF-8"));
    EXPECT_THAT(Refusal([&](auto& c) { c.outputs[0].name = name; }),
                HasSubstr("section 0 (metadata), outputs 0: its name is not UTF-8"));
  }
  EXPECT_THAT(Refusal([](auto& c) { c.inputs.push_back(c.inputs[0]); }),
              HasSubstr("section 0 (metadata), inputs 1: 'in0' is the name of another"));
}

// A host function writes what it writes, whatever the command says: the proof must know.
TEST_F(HostileBundle, HostCallsThatHideWhatTheyWrite) {
  ModelBuilder b(13, "top");
  b.Input("x", {2, 8}).Output("v", {2, 3});
  b.Initializer("k", onnx::TensorProto::INT64, {1}).add_int64_data(3);
  b.Node("TopK", {"x", "k"}, {"v", "i"});
  auto contents = CompileModel(folder_.Write("m.onnx", b.model), DynamicCompileOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_TRUE(WriteBundle(path_, *contents).ok());
  EXPECT_TRUE(Bundle::Open(path_, LoadLevel::kFull).ok());
  size_t call = 0;
  while (contents->program.commands[call].opcode != Opcode::kHostCall) ++call;
  const auto refusal = [&](const std::function<void(HostParams&)>& change) {
    BundleContents hostile = *contents;
    change(hostile.program.commands[call].params.host);
    return Refusal(hostile);
  };
  EXPECT_THAT(refusal([](HostParams& host) { host.function = 77; }),
              HasSubstr("host function 77 of 5"));
  for (const uint32_t mask : {0u, 2u, 3u}) {
    EXPECT_NE(refusal([&](HostParams& host) { host.output_mask = mask; }), "");
  }
  // Sizes are the functions' own to check, when they run: 2^62 elements of 4 bytes wrap to none.
  BundleContents hostile = *contents;
  hostile.program.commands[call].params.host.values[0] += int64_t{1} << 59;
  const auto program = Program::FromContents(hostile);
  ASSERT_TRUE(program.ok()) << program.status();
  ArenaPool pool;
  RunBuffers buffers(**program);
  const auto context = MakeContext(*program, pool);
  const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("operands have other sizes"));
}

}  // namespace
}  // namespace berth

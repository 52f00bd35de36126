#include "npu_sim/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/status.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

NpuConfig Preset(std::string_view name) {
  absl::StatusOr<NpuConfig> config = LoadTarget(name);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : NpuConfig{};
}

Json PresetJson(std::string_view name) { return Json::parse(ToJson(Preset(name))); }

std::string ErrorOf(const Json& json) {
  return std::string(ToStd(ParseNpuConfig(json.dump(), "test.json").status().message()));
}

TEST(ConfigTest, EveryPresetRoundTrips) {
  const std::vector<PresetInfo> presets = ListPresets();
  std::set<uint64_t> machines;
  for (const PresetInfo& info : presets) {
    SCOPED_TRACE(info.name);
    const NpuConfig config = Preset(info.name);
    EXPECT_EQ(config.name, info.name);
    EXPECT_FALSE(config.description.empty());
    EXPECT_FALSE(config.calibrated_on.empty());
    const absl::StatusOr<NpuConfig> again = ParseNpuConfig(ToJson(config), "again");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ToJson(*again), ToJson(config));
    EXPECT_EQ(Fingerprint(*again), Fingerprint(config));
    machines.insert(Fingerprint(config));
  }
  EXPECT_EQ(machines.size(), presets.size()) << "two presets describe the same machine";
}

TEST(ConfigTest, ShipsThePresetsOfTheDesign) {
  std::vector<std::string> names;
  for (const PresetInfo& info : ListPresets()) names.push_back(info.name);
  EXPECT_THAT(names, ::testing::ElementsAre("ddr4_3200", "edge", "hbm2", "lpddr4_2400", "mobile",
                                            "nvdla_small", "onnxim_ws_32", "rtl_os_16", "rtl_os_32",
                                            "rtl_os_4", "rtl_os_8", "scalesim_os_128",
                                            "scalesim_os_16", "scalesim_os_32", "scalesim_ws_128",
                                            "scalesim_ws_16", "scalesim_ws_32", "server"));
}

struct DesignRow {
  const char* preset;
  int64_t edge_length, macs, depthwise_macs, lanes, scratchpad_kib, channels, peak_millibytes;
};

TEST(ConfigTest, FixedFiguresOfTheDesign) {
  for (const DesignRow& row : {DesignRow{"edge", 16, 256, 64, 32, 384, 2, 3750},
                               {"mobile", 32, 1024, 256, 128, 2048, 4, 19277},
                               {"server", 128, 16384, 2048, 1024, 16384, 8, 256000}}) {
    SCOPED_TRACE(row.preset);
    const NpuConfig c = Preset(row.preset);
    EXPECT_EQ(c.clock_mhz, 1000);
    EXPECT_EQ(c.matrix.rows, row.edge_length);
    EXPECT_EQ(c.matrix.columns, row.edge_length);
    EXPECT_EQ(c.matrix.dataflow, Dataflow::kWeightStationary);
    EXPECT_TRUE(c.matrix.preload_hidden);
    EXPECT_EQ(c.matrix.int8_macs_per_cycle, row.macs);
    EXPECT_EQ(c.matrix.depthwise_int8_macs_per_cycle, row.depthwise_macs);
    EXPECT_EQ(c.matrix.fp16_rate_divisor, 2);
    EXPECT_EQ(c.matrix.fp32_rate_divisor, 4);
    EXPECT_EQ(c.vector.int8_lanes, row.lanes);
    EXPECT_EQ(c.scratchpad.size_bytes, row.scratchpad_kib * 1024);
    EXPECT_EQ(c.dma.channels, row.channels);
    EXPECT_EQ(c.dram.peak_millibytes_per_cycle, row.peak_millibytes);
  }
  const NpuConfig edge = Preset("edge");
  EXPECT_EQ(edge.scratchpad.port_bytes_per_cycle, 16);
  EXPECT_EQ(edge.dram.model, DramModel::kFlat);
  EXPECT_EQ(edge.dram.read_latency_cycles, 500);
  EXPECT_EQ(edge.dram.write_latency_cycles, 250);
  EXPECT_EQ(Preset("mobile").dram.timing.clock_ps, 830);
  EXPECT_EQ(Preset("server").dram.timing.channels, 8);
}

TEST(ConfigTest, ExtendsTakesTheOtherKeysFromThePreset) {
  const auto config = ParseNpuConfig(
      R"({"extends": "edge", "name": "big", "scratchpad": {"size_bytes": 1048576}})", "big.json");
  ASSERT_TRUE(config.ok()) << config.status();
  NpuConfig expected = Preset("edge");
  expected.name = "big";
  expected.scratchpad.size_bytes = 1 << 20;
  EXPECT_EQ(ToJson(*config), ToJson(expected));
  EXPECT_THAT(ErrorOf({{"extends", "egde"}}), AllOf(HasSubstr("egde"), HasSubstr("edge, hbm2")));
  EXPECT_THAT(ErrorOf({{"extends", 3}}), HasSubstr("extends is 3"));
}

TEST(ConfigTest, EachMissingKeyIsNamed) {
  for (const char* preset : {"edge", "mobile"}) {
    const Json whole = PresetJson(preset);
    const Json flat = whole.flatten();
    for (const auto& [path, value] : flat.items()) {
      Json json = whole;
      const Json::json_pointer pointer(path);
      json[pointer.parent_pointer()].erase(pointer.back());
      std::string dotted = path.substr(1);
      std::replace(dotted.begin(), dotted.end(), '/', '.');
      EXPECT_THAT(ErrorOf(json), AllOf(HasSubstr("test.json: "), HasSubstr(dotted + " is missing"),
                                       HasSubstr("allowed: ")));
    }
  }
}

TEST(ConfigTest, EachBadValueIsNamedWithItsRange) {
  const Json whole = PresetJson("mobile");
  int numbers = 0;
  const Json flat = whole.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number()) continue;
    ++numbers;
    std::string dotted = path.substr(1);
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    for (const Json& bad :
         {Json(-2), Json(int64_t{1} << 62), Json("4"), Json(nullptr), Json::array()}) {
      Json json = whole;
      json[Json::json_pointer(path)] = bad;
      EXPECT_THAT(ErrorOf(json),
                  AllOf(HasSubstr(dotted + " is "), HasSubstr("allowed: "), HasSubstr("..")))
          << bad;
    }
  }
  EXPECT_GT(numbers, 50);
}

TEST(ConfigTest, KindsOfErrorReadWell) {
  Json json = PresetJson("edge");
  json["matrix"]["rows"] = 0;
  EXPECT_EQ(ErrorOf(json), "test.json: matrix.rows is 0, allowed: 1..4096");
  json["matrix"]["rows"] = 15.5;
  EXPECT_EQ(ErrorOf(json), "test.json: matrix.rows is 15.5, allowed: an integer in 1..4096");
  json = PresetJson("edge");
  json["matrix"]["dataflow"] = "row_stationary";
  EXPECT_EQ(ErrorOf(json),
            "test.json: matrix.dataflow is \"row_stationary\", allowed: "
            "weight_stationary, output_stationary");
  json = PresetJson("edge");
  json["accumulator"]["bank"] = 1;
  EXPECT_EQ(ErrorOf(json), "test.json: accumulator.bank is not a key, allowed: banks, size_bytes");
  json["accumulator"].erase("banks");
  EXPECT_EQ(ErrorOf(json),
            "test.json: accumulator.bank is not a key, allowed: banks, size_bytes; "
            "accumulator.banks is missing, allowed: an integer in 1..1024");
  json = PresetJson("edge");
  json["dram"]["timing"] = {{"cl", 3}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("dram.timing is not a key"));
  json = PresetJson("edge");
  json["matrix"] = 3;
  EXPECT_THAT(ErrorOf(json), HasSubstr("test.json: matrix is not an object"));
  json = PresetJson("edge");
  json["matrix"]["preload_hidden"] = 1;
  EXPECT_THAT(ErrorOf(json), HasSubstr("matrix.preload_hidden is 1, allowed: true or false"));
}

TEST(ConfigTest, FieldsMustAgreeWithEachOther) {
  const auto set = [](const char* preset, const char* pointer, const Json& value) {
    Json json = PresetJson(preset);
    json[Json::json_pointer(pointer)] = value;
    return ErrorOf(json);
  };
  EXPECT_THAT(set("edge", "/matrix/int8_macs_per_cycle", 257), HasSubstr("at most 256"));
  EXPECT_THAT(set("edge", "/matrix/depthwise_int8_macs_per_cycle", 257), HasSubstr("at most 256"));
  EXPECT_THAT(set("edge", "/scratchpad/banks", 7), HasSubstr("multiples of 7"));
  EXPECT_THAT(set("edge", "/scratchpad/bank_interleave_bytes", 1 << 20), HasSubstr("24576"));
  EXPECT_THAT(set("edge", "/accumulator/size_bytes", 65540), HasSubstr("multiples of 16"));
  EXPECT_THAT(set("mobile", "/dram/burst_bytes", 64), HasSubstr("dram.burst_bytes is 64"));
  EXPECT_THAT(set("mobile", "/dram/page_bytes", 5000), HasSubstr("powers of two"));
  EXPECT_THAT(set("mobile", "/dram/peak_millibytes_per_cycle", 25000), HasSubstr("19085..19469"));
  EXPECT_THAT(set("mobile", "/dram/timing/trfc", 9000), HasSubstr("at most 4135"));
  EXPECT_EQ(set("mobile", "/dram/peak_millibytes_per_cycle", 19300), "");
}

TEST(ConfigTest, TextThatIsNoObjectIsRefused) {
  const auto message = [](std::string_view text) {
    return std::string(ToStd(ParseNpuConfig(text, "x.json").status().message()));
  };
  EXPECT_THAT(message(""), HasSubstr("x.json: not valid JSON at byte"));
  EXPECT_THAT(message("{\"name\": "), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(message("{\"name\": \"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("not a JSON object"));
  EXPECT_FALSE(ParseNpuConfig(std::string(100000, '['), "deep").ok());
}

TEST(ConfigTest, TargetsByNameOrFile) {
  const absl::Status unknown = LoadTarget("egde").status();
  EXPECT_THAT(ToStd(unknown.message()), AllOf(HasSubstr("'egde'"), HasSubstr("edge, hbm2")));
  const auto folder = std::filesystem::path(::testing::TempDir()) / "berth_config_test";
  std::filesystem::create_directories(folder / "folder.json");
  const std::string path = (folder / "mine.json").string();
  NpuConfig mine = Preset("server");
  mine.dma.channels = 3;
  std::ofstream(path) << ToJson(mine);
  const absl::StatusOr<NpuConfig> loaded = LoadTarget(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->dma.channels, 3);
  EXPECT_FALSE(LoadTarget((folder / "folder.json").string()).ok());
  EXPECT_THAT(ToStd(LoadTarget((folder / "none.json").string()).status().message()),
              HasSubstr("none.json: no such file"));
  std::filesystem::remove_all(folder);
}

// Bundles carry it.
TEST(ConfigTest, FingerprintStaysWhatItWas) {
  EXPECT_EQ(Fingerprint(*LoadTarget("edge")), 0x404785540f342de1u);
}

TEST(ConfigTest, FingerprintIsOfTheMachineNotItsName) {
  NpuConfig config = Preset("edge");
  const uint64_t before = Fingerprint(config);
  config.name = "other";
  config.description = "other";
  config.calibrated_on = "other";
  EXPECT_EQ(Fingerprint(config), before);
  config.energy.int8_mac_picojoules += 0.01;
  EXPECT_NE(Fingerprint(config), before);
}

}  // namespace
}  // namespace berth

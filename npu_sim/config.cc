// Validation of NpuConfig and the targets by name or file.
#include "npu_sim/config.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <type_traits>

#include "base/status.h"
#include "npu_sim/config_fields.h"
#include "npu_sim/presets.h"

namespace berth {
namespace {

// Keeps the first field that is out of its range.
struct RangeChecker {
  absl::Status status;

  void operator()(std::string_view, const std::string&) {}
  void operator()(std::string_view, const bool&) {}
  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void operator()(std::string_view path, const Enum& field) {
    const auto count = config_internal::EnumNames(Enum{}).size();
    const auto value = static_cast<int64_t>(field);
    if (status.ok() && (value < 0 || value >= static_cast<int64_t>(count))) {
      status = InvalidArgument("{} is enumerator {}, allowed: 0..{}", path, value, count - 1);
    }
  }
  template <typename Number>
  void operator()(std::string_view path, const Number& field, std::type_identity_t<Number> min,
                  std::type_identity_t<Number> max) {
    // Written so that a NaN fails.
    if (status.ok() && !(field >= min && field <= max)) {
      status = InvalidArgument("{} is {}, allowed: {}..{}", path, field, min, max);
    }
  }
};

absl::Status CheckAtMost(std::string_view path, int64_t value, int64_t max, std::string_view why) {
  if (value <= max) return absl::OkStatus();
  return InvalidArgument("{} is {}, allowed: at most {} ({})", path, value, max, why);
}

absl::Status CheckMultiple(std::string_view path, int64_t value, int64_t unit,
                           std::string_view why) {
  if (value % unit == 0) return absl::OkStatus();
  return InvalidArgument("{} is {}, allowed: multiples of {} ({})", path, value, unit, why);
}

absl::Status CheckPowerOfTwo(std::string_view path, int64_t value) {
  if (std::has_single_bit(static_cast<uint64_t>(value))) return absl::OkStatus();
  return InvalidArgument("{} is {}, allowed: powers of two", path, value);
}

absl::Status CheckOnChip(const NpuConfig& c) {
  BERTH_RETURN_IF_ERROR(CheckAtMost("matrix.int8_macs_per_cycle", c.matrix.int8_macs_per_cycle,
                                    c.matrix.rows * c.matrix.columns,
                                    "matrix.rows * matrix.columns"));
  BERTH_RETURN_IF_ERROR(CheckAtMost("matrix.depthwise_int8_macs_per_cycle",
                                    c.matrix.depthwise_int8_macs_per_cycle,
                                    c.matrix.int8_macs_per_cycle, "matrix.int8_macs_per_cycle"));
  BERTH_RETURN_IF_ERROR(CheckMultiple("scratchpad.size_bytes", c.scratchpad.size_bytes,
                                      c.scratchpad.banks, "scratchpad.banks"));
  const int64_t bank_bytes = c.scratchpad.size_bytes / c.scratchpad.banks;
  BERTH_RETURN_IF_ERROR(CheckAtMost("scratchpad.bank_interleave_bytes",
                                    c.scratchpad.bank_interleave_bytes, bank_bytes,
                                    "size of one bank"));
  return CheckMultiple("accumulator.size_bytes", c.accumulator.size_bytes, 4 * c.accumulator.banks,
                       "4-byte words in each of accumulator.banks");
}

// Two beats a clock on each channel, in thousandths of a byte per machine cycle.
int64_t TimingPeakMillibytes(const NpuConfig& c) {
  const DramTiming& t = c.dram.timing;
  const int64_t bytes_per_clock = t.channels * t.bus_bits_per_channel / 8 * 2;
  const int64_t cycle_ps = 1'000'000 / c.clock_mhz;
  return bytes_per_clock * 1000 * cycle_ps / t.clock_ps;
}

absl::Status CheckBankedDram(const NpuConfig& c) {
  const DramTiming& t = c.dram.timing;
  for (const auto& [path, value] :
       {std::pair{"dram.burst_bytes", c.dram.burst_bytes},
        {"dram.page_bytes", c.dram.page_bytes},
        {"dram.timing.channels", t.channels},
        {"dram.timing.ranks", t.ranks},
        {"dram.timing.bank_groups", t.bank_groups},
        {"dram.timing.banks_per_group", t.banks_per_group},
        {"dram.timing.channel_interleave_bytes", t.channel_interleave_bytes}}) {
    BERTH_RETURN_IF_ERROR(CheckPowerOfTwo(path, value));
  }
  const int64_t burst_bytes = t.bus_bits_per_channel * t.burst_beats / 8;
  if (c.dram.burst_bytes != burst_bytes) {
    return InvalidArgument(
        "dram.burst_bytes is {}, allowed: {} (bus_bits_per_channel * "
        "burst_beats / 8 of dram.timing)",
        c.dram.burst_bytes, burst_bytes);
  }
  BERTH_RETURN_IF_ERROR(
      CheckMultiple("dram.page_bytes", c.dram.page_bytes, burst_bytes, "dram.burst_bytes"));
  BERTH_RETURN_IF_ERROR(CheckMultiple("dram.timing.channel_interleave_bytes",
                                      t.channel_interleave_bytes, burst_bytes, "dram.burst_bytes"));
  // Between two refreshes there must be time to close every bank, to open a row and to use it.
  const int64_t refresh_clocks = t.trfc + t.tras + t.trp + t.trcd + t.cl + t.cwl + t.twr +
                                 t.twtr_l + 2 * t.burst_beats +
                                 t.bank_groups * t.banks_per_group * (1 + t.tppd);
  BERTH_RETURN_IF_ERROR(CheckAtMost("dram.timing.trfc", t.trfc,
                                    t.trefi / t.ranks - (refresh_clocks - t.trfc),
                                    "leaves each refresh of a rank time for a row"));
  const int64_t derived = TimingPeakMillibytes(c);
  const int64_t slack = derived / 100;
  const int64_t stated = c.dram.peak_millibytes_per_cycle;
  if (stated < derived - slack || stated > derived + slack) {
    return InvalidArgument(
        "dram.peak_millibytes_per_cycle is {}, allowed: {}..{} (within 1% of "
        "channels * bus * 2 / clock_ps of dram.timing)",
        stated, derived - slack, derived + slack);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  constexpr int64_t kMaxFileBytes = 1 << 20;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return NotFound("{}: no such file", path);
  if (!std::filesystem::is_regular_file(path, error)) {
    return InvalidArgument("{}: not a regular file", path);
  }
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error || file_bytes > kMaxFileBytes) {
    return InvalidArgument("{}: {} bytes, allowed: at most {}", path, file_bytes, kMaxFileBytes);
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(file_bytes), '\0');
  if (!file.read(text.data(), file_bytes)) return InvalidArgument("{}: cannot be read", path);
  return text;
}

}  // namespace

absl::Status Validate(const NpuConfig& config) {
  RangeChecker checker;
  config_internal::VisitFields(config, checker);
  BERTH_RETURN_IF_ERROR(checker.status);
  BERTH_RETURN_IF_ERROR(CheckOnChip(config));
  if (config.dram.model == DramModel::kBanked) return CheckBankedDram(config);
  return absl::OkStatus();
}

absl::StatusOr<NpuConfig> LoadTarget(std::string_view preset_or_path) {
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    if (preset.name == preset_or_path) {
      return ParseNpuConfig(preset.json_text, fmt::format("preset {}", preset.name));
    }
  }
  if (preset_or_path.ends_with(".json")) {
    BERTH_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(std::string(preset_or_path)));
    return ParseNpuConfig(text, preset_or_path);
  }
  return NotFound("unknown target '{}', allowed: a file ending in .json, or {}", preset_or_path,
                  PresetNames());
}

std::string PresetNames() {
  std::string names;
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  }
  return names;
}

std::vector<PresetInfo> ListPresets() {
  std::vector<PresetInfo> presets;
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    const absl::StatusOr<NpuConfig> config = LoadTarget(preset.name);
    presets.push_back({std::string(preset.name), config.ok() ? config->description : ""});
  }
  return presets;
}

}  // namespace berth

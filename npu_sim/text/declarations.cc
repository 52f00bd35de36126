// Engines, regions, slots, bytes in use.
#include "npu_sim/text/names.h"
#include "npu_sim/text/state.h"

namespace berth::program_text {
namespace {

constexpr size_t kMostEngines = 256;  // Command::engine has one byte

// Up to three digits; the caller compares what it made of them with the text.
uint8_t TakeSmallNumber(std::string_view& text) {
  unsigned value = 0;
  for (int i = 0; i < 3 && !text.empty() && text.front() >= '0' && text.front() <= '9'; ++i) {
    value = value * 10 + static_cast<unsigned>(text.front() - '0');
    text.remove_prefix(1);
  }
  return static_cast<uint8_t>(value);
}

// The inverse of EngineName.
std::optional<EngineId> EngineFromName(std::string_view name) {
  EngineId engine;
  std::string_view rest = name;
  const size_t dot = rest.find('.');
  if (dot != std::string_view::npos) {
    engine.core = TakeSmallNumber(rest);
    rest = name.substr(dot + 1);
  }
  const size_t kind_length = std::min(rest.find_first_of("0123456789"), rest.size());
  const auto kind = ValueOf(EngineKindNameOf, rest.substr(0, kind_length));
  if (!kind) return std::nullopt;
  engine.kind = static_cast<EngineKind>(*kind);
  rest.remove_prefix(kind_length);
  engine.index = TakeSmallNumber(rest);
  if (EngineName(engine) != name) return std::nullopt;
  return engine;
}

absl::Status TakeLease(Slot& slot, Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("=["));
  BERTH_ASSIGN_OR_RETURN(slot.begin_command, cursor.TakeInteger<uint32_t>());
  BERTH_RETURN_IF_ERROR(cursor.Expect(","));
  BERTH_ASSIGN_OR_RETURN(slot.end_command, cursor.TakeInteger<uint32_t>());
  return cursor.Expect(")");
}

bool Has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::Status TakeEngines(State& state, Cursor& cursor) {
  if (cursor.AtLineEnd()) return cursor.Fail("expected names of engines, such as dma0 and matrix");
  while (!cursor.AtLineEnd()) {
    const Cursor begin = cursor;
    const std::string_view name = cursor.TakeName();
    const std::optional<EngineId> engine = EngineFromName(name);
    if (!engine || !cursor.AtWordEnd()) {
      return begin.Fail(fmt::format(
          "{} is no engine, expected dma0, dma1, ..., matrix, vector or host; of core 1: 1.dma0",
          begin.Found()));
    }
    if (std::find(state.engine_names.begin(), state.engine_names.end(), name) !=
        state.engine_names.end()) {
      return begin.Fail(fmt::format("engine '{}' is declared twice", name));
    }
    if (state.engine_names.size() == kMostEngines) {
      return begin.Fail(fmt::format("more than {} engines", kMostEngines));
    }
    state.program.engines.push_back(*engine);
    state.engine_names.emplace_back(name);
    state.issued.push_back(0);
  }
  return absl::OkStatus();
}

absl::Status TakeRegion(State& state, Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(TakeListNumber(state.program.regions.size(), "region", cursor));
  const Cursor begin = cursor;
  const auto kind = ValueOf(RegionKindNameOf, cursor.TakeName());
  if (!kind || !cursor.AtWordEnd()) {
    return begin.Fail(fmt::format("unknown kind of region: {}, there are: {}", begin.Found(),
                                  ListOf(RegionKindNameOf)));
  }
  DramRegion region;
  region.kind = static_cast<RegionKind>(*kind);
  BERTH_ASSIGN_OR_RETURN(const auto names, TakeFields(cursor, [&](const Field& field) {
                           if (field.name == "bytes") return TakeValue(cursor, region.size_bytes);
                           if (field.name == "index") return TakeValue(cursor, region.index);
                           return UnknownField(field, "a region", "bytes, index", cursor);
                         }));
  if (!Has(names, "bytes")) return cursor.Fail("expected 'bytes=' of the region");
  state.program.regions.push_back(region);
  return absl::OkStatus();
}

absl::Status TakeSlot(State& state, Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(TakeListNumber(state.program.slots.size(), "slot", cursor));
  BERTH_ASSIGN_OR_RETURN(const Place place, TakePlace(state, cursor));
  BERTH_RETURN_IF_ERROR(cursor.ExpectWordEnd());
  Slot slot;
  slot.space = place.space;
  slot.region = place.region;
  slot.offset_bytes = place.offset_bytes;
  BERTH_ASSIGN_OR_RETURN(const auto names, TakeFields(cursor, [&](const Field& field) {
                           if (field.name == "bytes") return TakeValue(cursor, slot.size_bytes);
                           if (field.name == "name") return TakeValue(cursor, slot.name);
                           if (field.name == "commands") return TakeLease(slot, cursor);
                           return UnknownField(field, "a slot", "bytes, commands, name", cursor);
                         }));
  if (!Has(names, "bytes")) return cursor.Fail("expected 'bytes=' of the slot");
  state.program.slots.push_back(slot);
  state.slot_is_open.push_back(!Has(names, "commands"));
  return absl::OkStatus();
}

absl::Status TakeUsedBytes(std::optional<int64_t>& bytes, Cursor& cursor) {
  if (bytes) return cursor.FailAt(0, "the bytes of this memory are given twice");
  int64_t given = 0;
  BERTH_ASSIGN_OR_RETURN(const auto names, TakeFields(cursor, [&](const Field& field) {
                           if (field.name == "bytes") return TakeValue(cursor, given);
                           return UnknownField(field, "a memory", "bytes", cursor);
                         }));
  if (!Has(names, "bytes")) return cursor.Fail("expected 'bytes=' of the memory");
  bytes = given;
  return absl::OkStatus();
}

}  // namespace berth::program_text

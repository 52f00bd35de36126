// What several statements are made of: places in memories, numbers of lists, unknown fields.
#include "base/checked_math.h"
#include "npu_sim/text/names.h"
#include "npu_sim/text/state.h"

namespace berth::program_text {
namespace {

// "+64", "-64", or nothing.
absl::StatusOr<int64_t> TakeOffset(Cursor& cursor) {
  if (!cursor.At("+") && !cursor.At("-")) return 0;
  if (cursor.Take("+") && !cursor.AtDigit()) {
    return cursor.Fail(cursor.Found() + ", expected an offset in bytes");
  }
  return cursor.TakeInteger<int64_t>();
}

absl::StatusOr<Place> TakePlaceInSlot(const State& state, Cursor& cursor) {
  const Cursor begin = cursor;
  Place place;
  BERTH_RETURN_IF_ERROR(cursor.Expect("#"));
  BERTH_ASSIGN_OR_RETURN(place.slot, cursor.TakeInteger<uint32_t>());
  if (place.slot >= state.program.slots.size()) {
    return begin.Fail(fmt::format("slot {} is not declared, there are {} so far", place.slot,
                                  state.program.slots.size()));
  }
  const Slot& slot = state.program.slots[place.slot];
  place.space = slot.space;
  place.region = slot.region;
  BERTH_ASSIGN_OR_RETURN(const int64_t shift_bytes, TakeOffset(cursor));
  const std::optional<int64_t> offset_bytes = CheckedAdd(slot.offset_bytes, shift_bytes);
  if (!offset_bytes) {
    return begin.Fail(
        fmt::format("{} bytes from {} on leave 64 bits", shift_bytes, slot.offset_bytes));
  }
  place.offset_bytes = *offset_bytes;
  return place;
}

// "[2]", of a region that is declared as what its name says.
absl::StatusOr<uint16_t> TakeRegionOf(const State& state, std::optional<uint8_t> kind,
                                      Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("["));
  const Cursor begin = cursor;
  BERTH_ASSIGN_OR_RETURN(const uint16_t number, cursor.TakeInteger<uint16_t>());
  BERTH_RETURN_IF_ERROR(cursor.Expect("]"));
  if (!kind) return number;
  const std::vector<DramRegion>& regions = state.program.regions;
  if (number >= regions.size()) {
    return begin.Fail(
        fmt::format("region {} is not declared, there are {} so far", number, regions.size()));
  }
  const auto declared = static_cast<uint8_t>(regions[number].kind);
  if (declared != *kind) {
    return begin.Fail(fmt::format("region {} is '{}', not '{}'", number, RegionKindNameOf(declared),
                                  RegionKindNameOf(*kind)));
  }
  return number;
}

}  // namespace

absl::StatusOr<Place> TakePlace(const State& state, Cursor& cursor) {
  if (cursor.At("#")) return TakePlaceInSlot(state, cursor);
  const Cursor begin = cursor;
  const std::string_view name = cursor.TakeName();
  const std::optional<uint8_t> space = ValueOf(SpaceNameOf, name);
  const std::optional<uint8_t> kind = ValueOf(RegionKindNameOf, name);
  if (!space && !kind) {
    return begin.Fail(fmt::format("unknown memory {}, there are: {}, {}, and #N for slot N",
                                  begin.Found(), ListOf(RegionKindNameOf), ListOf(SpaceNameOf)));
  }
  Place place;
  place.space = space ? static_cast<MemorySpace>(*space) : MemorySpace::kDram;
  if (place.space == MemorySpace::kDram || cursor.At("[")) {
    BERTH_ASSIGN_OR_RETURN(place.region, TakeRegionOf(state, kind, cursor));
  }
  BERTH_ASSIGN_OR_RETURN(place.offset_bytes, TakeOffset(cursor));
  return place;
}

absl::Status TakeListNumber(size_t number, std::string_view what, Cursor& cursor) {
  if (cursor.AtLineEnd() || !cursor.AtDigit()) return absl::OkStatus();
  const Cursor begin = cursor;
  BERTH_ASSIGN_OR_RETURN(const uint64_t given, cursor.TakeInteger<uint64_t>());
  if (given != number) {
    return begin.Fail(fmt::format("{} {} stands in place {}", what, given, number));
  }
  BERTH_RETURN_IF_ERROR(cursor.ExpectWordEnd());
  (void)cursor.AtLineEnd();  // to the next word
  return absl::OkStatus();
}

absl::Status UnknownField(const Field& field, std::string_view of, std::string_view known,
                          const Cursor& cursor) {
  return cursor.FailAt(field.position, fmt::format("unknown field '{}' of {}, there are: {}",
                                                   field.name, of, known));
}

}  // namespace berth::program_text

// kSelect: the condition is bool, the values are any dtype, moved by size.
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

template <typename T>
void SelectChunk(std::byte* const* p, int64_t count) {
  T* target = reinterpret_cast<T*>(p[0]);
  const auto* condition = reinterpret_cast<const uint8_t*>(p[1]);
  const T* yes = reinterpret_cast<const T*>(p[2]);
  const T* no = reinterpret_cast<const T*>(p[3]);
  for (int64_t i = 0; i < count; ++i) target[i] = condition[i] != 0 ? yes[i] : no[i];
}

}  // namespace

absl::Status ExecuteSelect(const UnitCall& call) {
  const Command& c = call.command;
  if (DTypeBytes(c.in0.dtype) != 1) return UnsupportedDType(c, c.in0.dtype);
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0, &c.in1, &c.in2});
  Normalize(nest);
  switch (DTypeBytes(c.out.dtype)) {
    case 1:
      WalkChunks(nest, SelectChunk<uint8_t>);
      break;
    case 2:
      WalkChunks(nest, SelectChunk<uint16_t>);
      break;
    case 4:
      WalkChunks(nest, SelectChunk<uint32_t>);
      break;
    default:
      WalkChunks(nest, SelectChunk<uint64_t>);
      break;
  }
  return absl::OkStatus();
}

}  // namespace berth

#include "planner/storage/overlap.h"

#include <algorithm>

#include "npu_sim/access.h"

namespace berth {
namespace {

struct Loop {
  int64_t stride_bytes;
  int64_t extent;
};

// The place as a grid of byte runs, outer loops first; more than four loops do not fit.
bool ToAccess(const StoragePlace& place, const TensorType& type, Access* access) {
  std::vector<Loop> loops;
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    const int64_t extent = type.shape[axis];
    if (extent > 1) loops.push_back({place.stride_bytes[static_cast<size_t>(axis)], extent});
  }
  std::sort(loops.begin(), loops.end(),
            [](const Loop& a, const Loop& b) { return a.stride_bytes > b.stride_bytes; });
  access->space = MemorySpace::kDram;
  access->offset_bytes = place.offset_bytes;
  access->run_bytes = DTypeBytes(type.dtype);
  while (!loops.empty() && loops.back().stride_bytes == access->run_bytes) {
    access->run_bytes *= loops.back().extent;
    loops.pop_back();
  }
  for (size_t i = 0; i + 1 < loops.size();) {  // two loops that step evenly are one
    Loop& outer = loops[i];
    const Loop& inner = loops[i + 1];
    if (outer.stride_bytes != inner.stride_bytes * inner.extent) {
      ++i;
      continue;
    }
    outer = {inner.stride_bytes, outer.extent * inner.extent};
    loops.erase(loops.begin() + static_cast<ptrdiff_t>(i) + 1);
    i = i > 0 ? i - 1 : 0;
  }
  if (loops.size() > 4) return false;
  const size_t first = 4 - loops.size();
  for (size_t i = 0; i < loops.size(); ++i) {
    access->extent[first + i] = loops[i].extent;
    access->stride_bytes[first + i] = loops[i].stride_bytes;
  }
  return true;
}

}  // namespace

bool ShareBytes(const StoragePlace& a, const TensorType& a_type, const StoragePlace& b,
                const TensorType& b_type) {
  if (a.buffer < 0 || a.buffer != b.buffer) return false;
  const int64_t a_end = a.offset_bytes + SpanBytes(a_type, a.stride_bytes);
  const int64_t b_end = b.offset_bytes + SpanBytes(b_type, b.stride_bytes);
  if (a.offset_bytes >= b_end || b.offset_bytes >= a_end) return false;
  Access a_access, b_access;
  return !ToAccess(a, a_type, &a_access) || !ToAccess(b, b_type, &b_access) ||
         MayOverlap(a_access, b_access);
}

int64_t SpanBytes(const TensorType& type, const Extents& stride_bytes) {
  if (type.shape.ElementCount() == 0) return 0;
  int64_t span_bytes = DTypeBytes(type.dtype);
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    span_bytes += (type.shape[axis] - 1) * stride_bytes[static_cast<size_t>(axis)];
  }
  return span_bytes;
}

}  // namespace berth

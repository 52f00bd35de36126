// Whether two strided places share bytes.
#pragma once

#include "planner/storage/storage.h"

namespace berth {

// False only if the two values share no byte. As exact as MayOverlap (npu_sim/access.h) where both
// places are at most four regular loops; otherwise by their first and last bytes.
bool ShareBytes(const StoragePlace& a, const TensorType& a_type, const StoragePlace& b,
                const TensorType& b_type);

// From element 0 to the end of the last element; 0 without elements.
int64_t SpanBytes(const TensorType& type, const Extents& stride_bytes);

}  // namespace berth

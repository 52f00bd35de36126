// The bytes of an access, written out one by one.
#pragma once

#include <cstdint>
#include <set>

#include "npu_sim/access.h"

namespace berth {

inline std::set<int64_t> BytesOf(const Access& a) {
  std::set<int64_t> bytes;
  for (int64_t i = 0; i < a.extent[0]; ++i)
    for (int64_t j = 0; j < a.extent[1]; ++j)
      for (int64_t k = 0; k < a.extent[2]; ++k)
        for (int64_t l = 0; l < a.extent[3]; ++l)
          for (int64_t u = 0; u < a.run_bytes; ++u)
            bytes.insert(a.offset_bytes + i * a.stride_bytes[0] + j * a.stride_bytes[1] +
                         k * a.stride_bytes[2] + l * a.stride_bytes[3] + u);
  return bytes;
}

}  // namespace berth

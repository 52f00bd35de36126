// What the rules and the references of the windows and discrete transforms share.
#pragma once

#include <vector>

#include "kernels/op_def.h"

namespace berth {

// Elements of the window that `node` is.
std::vector<double> WindowValues(const Node& node, int64_t count);

struct Transform {
  int axis = 1;
  int64_t length = 0;  // samples taken: more are cut off, fewer are followed by zeros
  int64_t bins = 0;
  bool is_complex = false;  // samples of two parts
  bool inverse = false;
};
absl::StatusOr<Transform> ResolveDft(const OpCall& call);

struct Frames {
  int64_t count = 0, step = 1;
  Transform transform;
};
absl::StatusOr<Frames> ResolveStft(const OpCall& call);

}  // namespace berth

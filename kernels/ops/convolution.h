// What Conv and ConvTranspose share: their geometry, resolved from a node.
#pragma once

#include "kernels/spatial.h"

namespace berth {

struct Convolution {
  int64_t batch = 0;
  int64_t input_channels = 0;
  int64_t output_channels = 0;
  int64_t groups = 1;
  WindowAxes axes;
  bool transposed = false;

  int64_t group_inputs() const { return input_channels / groups; }
  int64_t group_outputs() const { return output_channels / groups; }
};

absl::StatusOr<Convolution> ResolveConv(const OpCall& call);
absl::StatusOr<Convolution> ResolveConvTranspose(const OpCall& call);

}  // namespace berth

// One spatial axis of a (transposed) convolution: which input samples and kernel taps make a range
// of outputs.
//
// A transposed convolution of stride s is s interleaved ordinary ones of stride 1: output o reads
// sample i through tap k where o = i * s - pad + k * dilation, so that the outputs of one residue
// modulo s share their taps, and no zero between samples is ever multiplied.
#pragma once

#include <vector>

#include "kernels/spatial.h"

namespace berth {

// Outputs out_first + j * out_step of a range; output j reads through tap tap_first + t * tap_step
// the sample first_sample + j * stride + t * dilation (outside the input: zero).
struct AxisPhase {
  int64_t out_first = 0, out_step = 1, out_count = 0;  // counted from the range's beginning
  int64_t tap_first = 0, tap_step = 1, taps = 0;       // taps may be 0: the outputs are zero
  int64_t first_sample = 0, stride = 1, dilation = 1;
};

std::vector<AxisPhase> PhasesOf(const AxisWindow& axis, bool transposed, IndexRange outputs);

// The samples that the outputs read, inside the input; at least one sample, so that there is always
// something to load.
IndexRange SamplesOf(const AxisWindow& axis, bool transposed, IndexRange outputs);

// Most samples that any `count` consecutive outputs read.
int64_t MostSamples(const AxisWindow& axis, bool transposed, int64_t count);

// Samples loaded for all ranges of `count` outputs, overlaps counted again.
int64_t SamplesOfAllTiles(const AxisWindow& axis, bool transposed, int64_t count);

}  // namespace berth

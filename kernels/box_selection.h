// Greedy selection of boxes that overlap little (NonMaxSuppression of ONNX).
// Cost: O(n log n + n * selected) for the n boxes of each batch and class.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace berth {

struct BoxSelection {
  int64_t batches = 0, classes = 0, boxes = 0;
  int64_t most_per_class = 0;
  float iou_threshold = 0;
  bool has_score_threshold = false;
  float score_threshold = 0;
  bool is_centered = false;  // boxes are [x, y, width, height] about a centre, else two corners
};

// [batch, class, box] of each selected box; `boxes` is [batches, boxes, 4], `scores` [batches,
// classes, boxes]. Of equal scores the first box counts as better.
std::vector<std::array<int64_t, 3>> SelectBoxes(const BoxSelection& selection,
                                                absl::Span<const float> boxes,
                                                absl::Span<const float> scores);

}  // namespace berth

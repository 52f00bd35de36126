#include "kernels/box_selection.h"

#include <algorithm>
#include <limits>

namespace berth {
namespace {

struct Corners {
  float y1, x1, y2, x2;
  float Area() const { return (y2 - y1) * (x2 - x1); }
};

Corners CornersOf(const float* box, bool is_centered) {
  if (is_centered) {
    const float half_width = box[2] / 2, half_height = box[3] / 2;
    return {box[1] - half_height, box[0] - half_width, box[1] + half_height, box[0] + half_width};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

bool Overlap(const Corners& a, const Corners& b, float iou_threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0) || !(a.Area() > 0) || !(b.Area() > 0)) return false;
  const float shared = height * width;
  return shared / (a.Area() + b.Area() - shared) > iou_threshold;
}

// Boxes of one batch and class that may be selected, the best first.
std::vector<int64_t> Candidates(const BoxSelection& selection, const float* scores) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < selection.boxes; ++i) {
    if (!selection.has_score_threshold || scores[i] > selection.score_threshold) {
      order.push_back(i);
    }
  }
  // A score that is no number is the worst.
  const auto key = [scores](int64_t i) {
    return scores[i] == scores[i] ? scores[i] : -std::numeric_limits<float>::infinity();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&key](int64_t a, int64_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

std::vector<std::array<int64_t, 3>> SelectBoxes(const BoxSelection& selection,
                                                absl::Span<const float> boxes,
                                                absl::Span<const float> scores) {
  std::vector<std::array<int64_t, 3>> selected;
  for (int64_t batch = 0; batch < selection.batches; ++batch) {
    const float* const batch_boxes = boxes.data() + batch * selection.boxes * 4;
    for (int64_t of_class = 0; of_class < selection.classes; ++of_class) {
      const float* const line =
          scores.data() + (batch * selection.classes + of_class) * selection.boxes;
      std::vector<Corners> kept;
      for (const int64_t box : Candidates(selection, line)) {
        if (static_cast<int64_t>(kept.size()) >= selection.most_per_class) break;
        const Corners corners = CornersOf(batch_boxes + box * 4, selection.is_centered);
        const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Corners& other) {
          return Overlap(corners, other, selection.iou_threshold);
        });
        if (overlaps) continue;
        kept.push_back(corners);
        selected.push_back({batch, of_class, box});
      }
    }
  }
  return selected;
}

}  // namespace berth

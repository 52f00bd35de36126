// References of the windows and of the discrete transforms.
#include "kernels/ops/spectral.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/reference/doubles.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

absl::Status Window(const OpCall& call, Outputs outputs) {
  FromDoubles(WindowValues(*call.node, outputs[0].type.shape[0]), outputs[0]);
  return absl::OkStatus();
}

// Bin `bin` of samples given one by one.
template <typename Sample>
std::complex<double> BinOf(const Transform& t, int64_t bin, int64_t samples, Sample sample) {
  std::complex<double> sum = 0;
  for (int64_t i = 0; i < std::min(samples, t.length); ++i) {
    const double angle = (t.inverse ? 2 : -2) * M_PI * static_cast<double>(i * bin % t.length) /
                         static_cast<double>(t.length);
    sum += sample(i) * std::polar(1.0, angle);
  }
  return t.inverse ? sum / static_cast<double>(t.length) : sum;
}

// The sample at a place whose last coordinate is the part.
std::complex<double> SampleAt(const std::vector<double>& x, const Shape& shape, Coordinates place) {
  place.back() = 0;
  const auto at = static_cast<size_t>(FlatIndex(shape, place));
  return {x[at], shape.back() == 2 ? x[at + 1] : 0};
}

}  // namespace

absl::Status HannWindowReference(const OpCall& call, Inputs, Outputs outputs) {
  return Window(call, outputs);
}
absl::Status HammingWindowReference(const OpCall& call, Inputs, Outputs outputs) {
  return Window(call, outputs);
}
absl::Status BlackmanWindowReference(const OpCall& call, Inputs, Outputs outputs) {
  return Window(call, outputs);
}

absl::Status DFTReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const Transform t, ResolveDft(call));
  const Shape& shape = inputs[0].type.shape;
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> result;
  ForEachIndex(outputs[0].type.shape, [&](const Coordinates& index) {
    const auto axis = static_cast<size_t>(t.axis);
    const auto bin = BinOf(t, index[axis], shape[t.axis], [&](int64_t i) {
      Coordinates place = index;
      place[axis] = i;
      return SampleAt(x, shape, std::move(place));
    });
    result.push_back(index.back() == 0 ? bin.real() : bin.imag());
  });
  FromDoubles(result, outputs[0]);
  return absl::OkStatus();
}

absl::Status STFTReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const Frames frames, ResolveStft(call));
  const Shape& shape = inputs[0].type.shape;
  const std::vector<double> x = ToDoubles(inputs[0]);
  const std::vector<double> window =
      call.HasInput(2) ? ToDoubles(inputs[2])
                       : std::vector<double>(static_cast<size_t>(frames.transform.length), 1);
  std::vector<double> result;
  ForEachIndex(outputs[0].type.shape, [&](const Coordinates& index) {
    const auto bin = BinOf(frames.transform, index[2], frames.transform.length, [&](int64_t i) {
      const int64_t time = index[1] * frames.step + i;
      return window[static_cast<size_t>(i)] * SampleAt(x, shape, {index[0], time, 0});
    });
    result.push_back(index.back() == 0 ? bin.real() : bin.imag());
  });
  FromDoubles(result, outputs[0]);
  return absl::OkStatus();
}

}  // namespace berth

// Inputs and outputs of a program as files.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Tensors for `infos` in order: from "name=file.npy" or "0=file.npy" where given, else seeded
// pseudo-random values in [-1, 1) (integers: 0 to 9, bool: 0 or 1).
absl::StatusOr<std::vector<Tensor>> MakeInputs(const std::vector<TensorInfo>& infos,
                                               const std::vector<std::string>& assignments,
                                               uint64_t seed);

// The inputs of several runs, one after the other: an input that is given once is the same in all
// of them, one that is given as often as there are runs is given in order.
struct InputSequence {
  std::vector<std::vector<std::string>> files;  // of each input, or shapes; none: random values
  int runs = 1;
};
// `runs` 0: as many as the input that is given most often. InvalidArgument for numbers that differ.
absl::StatusOr<InputSequence> ParseInputs(const std::vector<TensorInfo>& infos,
                                          const std::vector<std::string>& assignments, int runs);
absl::StatusOr<std::vector<Tensor>> InputsOfRun(const std::vector<TensorInfo>& infos,
                                                const InputSequence& sequence, int run,
                                                uint64_t seed);

Tensor RandomTensor(const TensorType& type, uint64_t seed);

// Zero-filled tensors for `infos`.
std::vector<Tensor> MakeOutputs(const std::vector<TensorInfo>& infos);

// DIR/output_0.npy, DIR/output_1.npy, ...; makes DIR.
absl::Status WriteOutputs(const std::string& directory, const std::vector<Tensor>& outputs);

// How far `actual` is from `expected`: largest absolute difference, and the same over
// max |expected| (over 1 where all expected values are 0). NaN against a number is infinitely far;
// NaN against NaN and equal infinities are no difference.
struct Difference {
  double max_abs_error = 0;
  double max_rel_error = 0;
  int64_t worst_index = -1;
};
absl::StatusOr<Difference> Compare(const ConstTensorView& actual, const ConstTensorView& expected);

std::vector<ConstTensorView> Views(const std::vector<Tensor>& tensors);
std::vector<TensorView> MutableViews(std::vector<Tensor>& tensors);

}  // namespace berth

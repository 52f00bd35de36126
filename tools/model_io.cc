#include "tools/model_io.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "tools/compile_flags.h"
#include "tools/npy.h"

namespace berth {
namespace {

absl::StatusOr<size_t> FindInput(const std::vector<TensorInfo>& infos, const std::string& key) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == key) return i;
  }
  size_t position = infos.size();
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), position);
  if (error == std::errc() && end == key.data() + key.size() && position < infos.size()) {
    return position;
  }
  std::string names;
  for (const TensorInfo& info : infos) names += fmt::format(" '{}'", info.name);
  return InvalidArgument("--input '{}': no such input; the model has{}", key, names);
}

}  // namespace

Tensor RandomTensor(const TensorType& type, uint64_t seed) {
  Tensor tensor(type);
  std::mt19937_64 random(seed);
  VisitDType(type.dtype, [&]<typename T>() {
    for (T& value : tensor.Values<T>()) {
      const uint64_t bits = random();
      if constexpr (std::is_same_v<T, bool>) {
        value = bits & 1;
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(bits % 10);
      } else {
        value = static_cast<T>(static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f);
      }
    }
  });
  return tensor;
}

absl::StatusOr<InputSequence> ParseInputs(const std::vector<TensorInfo>& infos,
                                          const std::vector<std::string>& assignments, int runs) {
  InputSequence sequence;
  sequence.files.resize(infos.size());
  for (const std::string& text : assignments) {
    BERTH_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment(text, "--input"));
    BERTH_ASSIGN_OR_RETURN(const size_t index, FindInput(infos, assignment.first));
    sequence.files[index].push_back(assignment.second);
  }
  sequence.runs = std::max(runs, 1);
  for (const std::vector<std::string>& files : sequence.files) {
    if (runs == 0) sequence.runs = std::max(sequence.runs, static_cast<int>(files.size()));
  }
  for (size_t i = 0; i < infos.size(); ++i) {
    const size_t count = sequence.files[i].size();
    if (count > 1 && count != static_cast<size_t>(sequence.runs)) {
      return InvalidArgument("--input '{}': {} files for {} runs", infos[i].name, count,
                             sequence.runs);
    }
  }
  return sequence;
}

namespace {

// Random values where `source` is a shape rather than a file.
absl::StatusOr<Tensor> ReadOrMake(const std::string& source, DType dtype, uint64_t seed) {
  if (!std::filesystem::exists(source)) {
    if (const auto shape = ParseShape(source); shape.ok()) {
      return RandomTensor(TensorType{dtype, *shape}, seed);
    }
  }
  return ReadNpy(source);
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> InputsOfRun(const std::vector<TensorInfo>& infos,
                                                const InputSequence& sequence, int run,
                                                uint64_t seed) {
  std::vector<Tensor> inputs;
  const uint64_t first_seed = seed + static_cast<uint64_t>(run) * infos.size();
  for (size_t i = 0; i < infos.size(); ++i) {
    const std::vector<std::string>& files = sequence.files[i];
    if (files.empty() && infos[i].has_free_shape) {
      return InvalidArgument(
          "input {} ('{}') is {}: its shape is free, so that it must be "
          "given (--input {}=FILE.npy, or {}=SHAPE for random values)",
          i, infos[i].name, DescribeTensor(infos[i]), i, i);
    }
    if (files.empty()) {
      inputs.push_back(RandomTensor(infos[i].type, first_seed + i));
      continue;
    }
    const std::string& file = files[files.size() == 1 ? 0 : static_cast<size_t>(run)];
    BERTH_ASSIGN_OR_RETURN(Tensor tensor, ReadOrMake(file, infos[i].type.dtype, first_seed + i));
    const bool fits = infos[i].has_free_shape ? tensor.dtype() == infos[i].type.dtype
                                              : tensor.type() == infos[i].type;
    if (!fits) {
      return InvalidArgument("input {} ('{}'): '{}' holds {}, {} expected", i, infos[i].name, file,
                             tensor.type().ToString(), DescribeTensor(infos[i]));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const std::vector<TensorInfo>& infos,
                                               const std::vector<std::string>& assignments,
                                               uint64_t seed) {
  BERTH_ASSIGN_OR_RETURN(const InputSequence sequence, ParseInputs(infos, assignments, 1));
  return InputsOfRun(infos, sequence, 0, seed);
}

std::vector<Tensor> MakeOutputs(const std::vector<TensorInfo>& infos) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : infos) outputs.emplace_back(info.type);
  return outputs;
}

absl::Status WriteOutputs(const std::string& directory, const std::vector<Tensor>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return FailedPrecondition("cannot create '{}': {}", directory, error.message());
  for (size_t i = 0; i < outputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        WriteNpy(fmt::format("{}/output_{}.npy", directory, i), outputs[i].view()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Difference> Compare(const ConstTensorView& actual, const ConstTensorView& expected) {
  if (actual.type != expected.type) {
    return InvalidArgument("{} where {} is expected", actual.type.ToString(),
                           expected.type.ToString());
  }
  Difference difference;
  double largest = 0;
  VisitDType(expected.type.dtype, [&]<typename T>() {
    const auto as_double = [](T value) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        return static_cast<double>(static_cast<float>(value));
      } else {
        return static_cast<double>(value);
      }
    };
    const absl::Span<const T> a = actual.Values<T>(), e = expected.Values<T>();
    for (size_t i = 0; i < e.size(); ++i) {
      const double x = as_double(a[i]), y = as_double(e[i]);
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      double error = std::abs(x - y);
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      if (error > difference.max_abs_error) {
        difference.max_abs_error = error;
        difference.worst_index = static_cast<int64_t>(i);
      }
    }
  });
  difference.max_rel_error = difference.max_abs_error / (largest > 0 ? largest : 1.0);
  return difference;
}

std::vector<ConstTensorView> Views(const std::vector<Tensor>& tensors) {
  std::vector<ConstTensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

std::vector<TensorView> MutableViews(std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

}  // namespace berth

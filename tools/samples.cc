#include "tools/samples.h"

#include <algorithm>
#include <filesystem>

#include "tools/cases.h"
#include "tools/model_io.h"
#include "tools/npy.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

bool AtLimit(const std::vector<Sample>& samples, int limit) {
  return limit > 0 && static_cast<int>(samples.size()) >= limit;
}

std::vector<fs::path> NpyFiles(const std::string& directory) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// How many samples of `want` an array holds; 0 where it does not fit.
int64_t SamplesIn(const TensorType& array, const TensorType& want) {
  const std::vector<int64_t>& a = array.shape.extents();
  const std::vector<int64_t>& w = want.shape.extents();
  if (array.dtype != want.dtype) return 0;
  if (a == w) return 1;
  if (w.empty() || w[0] == 0) return 0;
  const auto behind = [](const std::vector<int64_t>& extents) {
    return absl::MakeSpan(extents).subspan(1);
  };
  if (w[0] == 1 && absl::MakeSpan(a) == behind(w)) return 1;
  if (a.size() != w.size() || behind(a) != behind(w) || a[0] % w[0] != 0) return 0;
  return a[0] / w[0];
}

Tensor Part(const Tensor& array, const TensorType& type, int64_t index) {
  Tensor part(type);
  const size_t part_bytes = part.bytes().size();
  std::copy_n(array.bytes().begin() + static_cast<ptrdiff_t>(part_bytes) * index, part_bytes,
              part.bytes().begin());
  return part;
}

// The number of samples that all inputs of one file case hold.
absl::StatusOr<int64_t> CountOf(const Graph& graph, const Sample& sample) {
  if (sample.inputs.size() != graph.inputs.size()) {
    return InvalidArgument("{}: {} inputs, the model has {}", sample.name, sample.inputs.size(),
                           graph.inputs.size());
  }
  int64_t count = -1;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.at(graph.inputs[i]);
    const int64_t found = SamplesIn(sample.inputs[i].type(), value.type);
    if (found == 0 || (count >= 0 && found != count)) {
      return InvalidArgument("{}: input {} ('{}') is {}, {} expected", sample.name, i, value.name,
                             sample.inputs[i].type().ToString(), value.type.ToString());
    }
    count = found;
  }
  return count;
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ReadSamples(const std::string& directory, int limit) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<fs::path> folders,
                         CaseFolders(directory, "input_0.npy", "--calibrate"));
  std::vector<Sample> samples;
  for (const fs::path& folder : folders) {
    if (AtLimit(samples, limit)) return samples;
    BERTH_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadSeries(folder, "input"));
    samples.push_back({fmt::format("'{}'", folder.string()), std::move(inputs)});
  }
  if (!samples.empty()) return samples;
  for (const fs::path& file : NpyFiles(directory)) {
    if (AtLimit(samples, limit)) return samples;
    BERTH_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(file.string()));
    samples.push_back({fmt::format("'{}'", file.string()), {std::move(tensor)}});
  }
  if (samples.empty()) {
    return NotFound(
        "--calibrate '{}' holds neither input_0.npy, nor folders that do, nor .npy files",
        directory);
  }
  return samples;
}

absl::StatusOr<std::vector<Sample>> FitSamples(const Graph& graph,
                                               const std::vector<Sample>& samples, int limit,
                                               bool skip_others) {
  std::vector<Sample> fitted;
  for (const Sample& sample : samples) {
    const absl::StatusOr<int64_t> count = CountOf(graph, sample);
    if (!count.ok() && skip_others) continue;
    if (!count.ok()) return count.status();
    for (int64_t n = 0; n < *count && !AtLimit(fitted, limit); ++n) {
      Sample one;
      one.name = *count == 1 ? sample.name : fmt::format("{} [{}]", sample.name, n);
      for (size_t i = 0; i < graph.inputs.size(); ++i) {
        one.inputs.push_back(Part(sample.inputs[i], graph.at(graph.inputs[i]).type, n));
      }
      fitted.push_back(std::move(one));
    }
  }
  return fitted;
}

std::vector<Sample> DrawSamples(const Graph& graph, int count, uint64_t seed, float low,
                                float high) {
  std::vector<Sample> samples;
  for (int n = 0; n < count; ++n) {
    Sample sample{fmt::format("random sample {}", n), {}};
    for (const ValueId id : graph.inputs) {
      Tensor tensor = RandomTensor(graph.at(id).type, seed++);
      if (tensor.dtype() == DType::kFloat32) {
        for (float& value : tensor.Values<float>()) value = low + (high - low) * (value + 1) / 2;
      }
      sample.inputs.push_back(std::move(tensor));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace berth

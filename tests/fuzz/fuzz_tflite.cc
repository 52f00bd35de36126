// TFLite files: the importer, and the inference of types over what it lets through.
#include "kernels/fold/fold_constants.h"
#include "planner/tflite/import.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::MemoryFile file(data, size);
  for (const bool free_shapes : {false, true}) {
    berth::ImportOptions options;
    options.free_shapes = free_shapes;
    options.state_mode = free_shapes ? berth::StateMode::kKeep : berth::StateMode::kFresh;
    absl::StatusOr<berth::Graph> graph = berth::ImportTflite(file.path(), options);
    if (!graph.ok()) continue;
    berth::FoldOptions fold;
    fold.partial = free_shapes;
    if (berth::FoldConstants(*graph, nullptr, fold).ok() && !berth::VerifyGraph(*graph).ok()) {
      std::abort();
    }
  }
  return 0;
}

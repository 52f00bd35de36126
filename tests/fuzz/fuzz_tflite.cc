// TFLite files: the importer, and what becomes of what it lets through.
#include "planner/tflite/import.h"
#include "tests/fuzz/compile_graph.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::MemoryFile file(data, size);
  for (const bool free_shapes : {false, true}) {
    berth::ImportOptions options;
    options.free_shapes = free_shapes;
    options.state_mode = free_shapes ? berth::StateMode::kKeep : berth::StateMode::kFresh;
    absl::StatusOr<berth::Graph> graph = berth::ImportTflite(file.path(), options);
    if (graph.ok()) berth::CompileForFuzz(*std::move(graph), free_shapes);
  }
  return 0;
}

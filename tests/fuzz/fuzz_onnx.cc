// ONNX files: the importer, and what becomes of what it lets through.
#include "planner/onnx/import.h"
#include "tests/fuzz/compile_graph.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/onnx_mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::MemoryFile file(data, size);
  for (const bool free_shapes : {false, true}) {
    berth::ImportOptions options;
    options.free_shapes = free_shapes;
    absl::StatusOr<berth::Graph> graph = berth::ImportOnnx(file.path(), options);
    if (graph.ok()) berth::CompileForFuzz(*std::move(graph), free_shapes);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Most changes are of the message; a few of its bytes, for the parser.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return berth::MutateModel(data, size, max_size, seed);
}

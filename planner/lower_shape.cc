#include "planner/lower_shape.h"

#include <utility>

#include "planner/compile.h"

namespace berth {
namespace {

// To make a command takes as long on the host as to run it for about so many cycles.
constexpr int64_t kCommandCycles = 4000;

CompileOptions OptionsFor(const LoweringRequest& request, const ConstantEvaluator& evaluator) {
  CompileOptions options;
  options.config = request.config;
  options.float_storage = request.float_storage;
  options.evaluator = evaluator;
  options.stop = request.stop;
  return options;
}

}  // namespace

GraphLowering MakeFastLowering(ConstantEvaluator evaluator) {
  return [evaluator = std::move(evaluator)](Graph graph, const LoweringRequest& request) {
    CompileOptions options = OptionsFor(request, evaluator);
    options.resident = options.stripes = false;
    options.reorder = false;
    options.prefetch = false;
    options.search = false;
    options.command_cycles = kCommandCycles;
    return CompileGraph(std::move(graph), options);
  };
}

GraphLowering MakeFullLowering(ConstantEvaluator evaluator) {
  return [evaluator = std::move(evaluator)](Graph graph, const LoweringRequest& request) {
    return CompileGraph(std::move(graph), OptionsFor(request, evaluator));
  };
}

}  // namespace berth

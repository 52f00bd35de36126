#include "tools/machine_runner.h"

#include <memory>

#include "berth/context.h"
#include "tools/model_io.h"

namespace berth {
namespace {

// A context with the arenas that it leases from.
struct Machine {
  ArenaPool pool;
  std::unique_ptr<Context> context;
};

}  // namespace

GraphRunner MachineRunner(CompileOptions options, int threads) {
  return [options = std::move(options), threads](const Graph& graph) -> absl::StatusOr<GraphRun> {
    BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileGraph(graph, options));
    BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                           Program::FromContents(std::move(contents)));
    ContextOptions context_options;
    context_options.threads = threads;
    auto machine = std::make_shared<Machine>();
    BERTH_ASSIGN_OR_RETURN(machine->context,
                           Context::Create(std::move(program), machine->pool, context_options));
    return GraphRun(
        [machine](absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
          std::vector<Tensor> outputs = MakeOutputs(machine->context->program().outputs());
          std::vector<ConstTensorView> views;
          for (const Tensor& input : inputs) views.push_back(input.view());
          BERTH_RETURN_IF_ERROR(machine->context->Run(views, MutableViews(outputs)));
          return outputs;
        });
  };
}

}  // namespace berth

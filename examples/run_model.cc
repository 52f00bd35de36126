// Loads a bundle and runs it, in C++: run_model_cpp BUNDLE.berth
// Inputs are zeros; types of the outputs and the simulated cycles are printed.
#include <berth/arena_pool.h>
#include <berth/context.h>
#include <berth/program.h>

#include <iostream>

namespace {

absl::Status Run(const char* path) {
  BERTH_ASSIGN_OR_RETURN(const auto program, berth::Program::Load(path));
  berth::ArenaPool pool;
  BERTH_ASSIGN_OR_RETURN(const auto context, berth::Context::Create(program, pool));
  std::vector<berth::Tensor> inputs, outputs;
  for (const berth::TensorInfo& info : program->inputs()) inputs.emplace_back(info.type);
  std::vector<berth::ConstTensorView> views;
  for (const berth::Tensor& input : inputs) views.push_back(input.view());
  berth::RunOptions options;
  options.mode = berth::RunMode::kBoth;
  berth::SimReport report;
  BERTH_RETURN_IF_ERROR(context->Run(views, outputs, options, &report));
  for (const berth::Tensor& output : outputs) std::cout << output.type().ToString() << "\n";
  std::cout << report.makespan_cycles << " cycles\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run_model_cpp BUNDLE.berth\n";
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::cerr << "run_model: " << status << "\n";
  return status.ok() ? 0 : 1;
}

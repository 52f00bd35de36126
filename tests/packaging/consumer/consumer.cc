// The same through the C++ API: consumer_cpp MODEL BUNDLE
#include <berth/arena_pool.h>
#include <berth/context.h>
#include <berth/program.h>

#include <iostream>

#include "kernels/reference/reference.h"
#include "planner/compile.h"

namespace {

absl::Status Run(const char* model) {
  berth::CompileOptions options;
  BERTH_ASSIGN_OR_RETURN(options.config, berth::LoadTarget("mobile"));
  options.evaluator = berth::EvaluateNode;
  BERTH_ASSIGN_OR_RETURN(berth::BundleContents contents, berth::CompileModel(model, options));
  BERTH_ASSIGN_OR_RETURN(const auto program, berth::Program::FromContents(std::move(contents)));
  berth::ArenaPool pool;
  BERTH_ASSIGN_OR_RETURN(const auto context, berth::Context::Create(program, pool));
  const berth::Tensor input(program->inputs()[0].type);
  std::vector<berth::Tensor> outputs;
  BERTH_RETURN_IF_ERROR(context->Run({input.view()}, outputs));
  std::cout << outputs[0].type().ToString() << "\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}

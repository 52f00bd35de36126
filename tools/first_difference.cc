#include "tools/first_difference.h"

#include <algorithm>
#include <memory>

#include "berth/context.h"
#include "kernels/reference/reference.h"
#include "tools/model_io.h"

namespace berth {
namespace {

constexpr size_t kMostValues = 2048;
constexpr size_t kValuesAtOnce = 128;  // outputs of one variant

struct Made {
  ValueId value;
  size_t node;
};

std::vector<Made> IntermediateValues(const Graph& graph) {
  std::vector<Made> made;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId value : graph.nodes[n].outputs) {
      if (value == ValueId::kNone || graph.at(value).constant != nullptr) continue;
      if (!IsFloat(graph.at(value).type.dtype) || made.size() == kMostValues) continue;
      made.push_back({value, n});
    }
  }
  return made;
}

absl::StatusOr<std::vector<Tensor>> RunOnMachine(const Graph& graph,
                                                 absl::Span<const Tensor> inputs,
                                                 const CompileOptions& options, int threads) {
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileGraph(graph, options));
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                         Program::FromContents(std::move(contents)));
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = threads;
  context_options.poison_before_run = true;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, context_options));
  std::vector<Tensor> outputs = MakeOutputs(program->outputs());
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  BERTH_RETURN_IF_ERROR(context->Run(views, MutableViews(outputs)));
  return outputs;
}

std::string Describe(const Graph& graph, const Made& made, const Difference& difference,
                     const Tensor& actual, const Tensor& expected) {
  const Node& node = graph.nodes[made.node];
  std::string text = fmt::format(
      "first node that differs from the reference: {} '{}' (node {}), value '{}' {}: error {:.3g}, "
      "{:.3g} of max |expected|",
      OpName(node.kind), node.name, made.node, graph.at(made.value).name,
      graph.at(made.value).type.ToString(), difference.max_abs_error, difference.max_rel_error);
  const absl::StatusOr<std::vector<float>> a = ToFloatValues(actual.view());
  const absl::StatusOr<std::vector<float>> e = ToFloatValues(expected.view());
  if (difference.worst_index >= 0 && a.ok() && e.ok()) {
    const auto at = static_cast<size_t>(difference.worst_index);
    text += fmt::format(", at element {}: {:.6g} where {:.6g} is expected", at, (*a)[at], (*e)[at]);
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> DescribeFirstDifference(const Graph& graph,
                                                    absl::Span<const Tensor> inputs,
                                                    const CompileOptions& options,
                                                    const Tolerance& tolerance, int threads) {
  const std::vector<Made> made = IntermediateValues(graph);
  for (size_t begin = 0; begin < made.size(); begin += kValuesAtOnce) {
    const size_t end = std::min(made.size(), begin + kValuesAtOnce);
    Graph variant = graph;
    variant.outputs.clear();
    for (size_t i = begin; i < end; ++i) variant.outputs.push_back(made[i].value);
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, Interpret(variant, inputs));
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> actual,
                           RunOnMachine(variant, inputs, options, threads));
    for (size_t i = begin; i < end; ++i) {
      const Tensor& a = actual[i - begin];
      const Tensor& e = expected[i - begin];
      BERTH_ASSIGN_OR_RETURN(const Difference difference, Compare(a.view(), e.view()));
      if (tolerance.Accepts(difference.max_abs_error, difference.max_rel_error)) continue;
      return Describe(graph, made[i], difference, a, e);
    }
  }
  return fmt::format(
      "none of its {} intermediate values differs from the reference when all are kept: look for "
      "what fuses nodes or shares bytes, or at the expected outputs",
      made.size());
}

}  // namespace berth

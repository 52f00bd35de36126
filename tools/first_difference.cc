#include "tools/first_difference.h"

#include <algorithm>
#include <memory>
#include <optional>

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

// `stored_only`: integers alone.
std::vector<Made> IntermediateValues(const Graph& graph, bool stored_only) {
  std::vector<Made> made;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId value : graph.nodes[n].outputs) {
      if (value == ValueId::kNone || graph.at(value).constant != nullptr) continue;
      if (stored_only && !IsInteger(graph.at(value).type.dtype)) continue;
      if (made.size() == kMostValues) return made;
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

// Stored integers follow from rounding, where neighbours are the same; other integers and booleans
// are right or wrong.
bool IsSame(DType dtype, const Difference& difference, const Tolerance& tolerance) {
  if (IsFloat(dtype)) {
    return tolerance.Accepts(difference.max_abs_error, difference.max_rel_error);
  }
  const bool is_stored = IsInteger(dtype) && DTypeBytes(dtype) <= 2;
  return difference.max_abs_error <= (is_stored ? 1 : 0);
}

std::string ValueAt(const Tensor& tensor, size_t at) {
  if (IsFloat(tensor.dtype())) {
    const absl::StatusOr<std::vector<float>> values = ToFloatValues(tensor.view());
    return values.ok() ? fmt::format("{:.6g}", (*values)[at]) : "?";
  }
  const absl::StatusOr<std::vector<int64_t>> values = ToInt64Values(tensor.view());
  return values.ok() ? fmt::format("{}", (*values)[at]) : "?";
}

std::string Describe(const Graph& graph, const Made& made, const Difference& difference,
                     const Tensor& actual, const Tensor& expected) {
  const Node& node = graph.nodes[made.node];
  std::string text = fmt::format(
      "first node that differs from the reference: {} '{}' (node {}), value '{}' {}: error {:.3g}, "
      "{:.3g} of max |expected|",
      OpName(node.kind), node.name, made.node, graph.at(made.value).name,
      graph.at(made.value).type.ToString(), difference.max_abs_error, difference.max_rel_error);
  if (difference.worst_index < 0) return text;
  const auto at = static_cast<size_t>(difference.worst_index);
  return text + fmt::format(", at element {}: {} where {} is expected", at, ValueAt(actual, at),
                            ValueAt(expected, at));
}

// The first of the values that differs; nothing where none does.
absl::StatusOr<std::optional<std::string>> FindAmong(const std::vector<Made>& made,
                                                     const Graph& graph,
                                                     absl::Span<const Tensor> inputs,
                                                     const CompileOptions& options,
                                                     const Tolerance& tolerance, int threads) {
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
      if (IsSame(e.dtype(), difference, tolerance)) continue;
      return Describe(graph, made[i], difference, a, e);
    }
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> DescribeFirstDifference(const Graph& graph,
                                                    absl::Span<const Tensor> inputs,
                                                    const CompileOptions& options,
                                                    const Tolerance& tolerance, int threads) {
  const bool is_quantized =
      std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& node) { return node.kind == OpKind::kDequantizeLinear; });
  size_t count = 0;
  for (const bool stored_only : {true, false}) {
    if (stored_only && !is_quantized) continue;
    const std::vector<Made> made = IntermediateValues(graph, stored_only);
    BERTH_ASSIGN_OR_RETURN(std::optional<std::string> found,
                           FindAmong(made, graph, inputs, options, tolerance, threads));
    if (found) return *std::move(found);
    count = made.size();
  }
  return fmt::format(
      "none of its {} intermediate values differs from the reference when all are kept: look for "
      "what fuses nodes or shares bytes, or at the expected outputs",
      count);
}

}  // namespace berth

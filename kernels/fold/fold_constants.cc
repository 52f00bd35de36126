#include "kernels/fold/fold_constants.h"

#include <algorithm>
#include <cmath>

#include "kernels/fold/graph_edit.h"
#include "kernels/fold/known_values.h"
#include "kernels/op_def.h"

namespace berth {
namespace {

constexpr int kMaxRank = 8;

std::string Where(const Node& node) { return fmt::format("{} '{}'", OpName(node.kind), node.name); }

class Folder {
 public:
  Folder(Graph& graph, const ConstantEvaluator& evaluator, const FoldOptions& options)
      : graph_(graph), evaluator_(evaluator), options_(options) {}

  absl::Status Run() {
    std::vector<bool> folded(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      BERTH_ASSIGN_OR_RETURN(const bool is_typed, Infer(node));
      if (!is_typed) continue;
      BERTH_RETURN_IF_ERROR(CheckRanks(node));
      BERTH_ASSIGN_OR_RETURN(folded[i], Fold(node));
    }
    RemoveNodes(graph_, folded);
    return absl::OkStatus();
  }

 private:
  // False where `partial` lets the types stay open.
  absl::StatusOr<bool> Infer(const Node& node) {
    absl::Status status;
    if (!options_.partial || HasKnownOperands(node)) {
      status = InferTypesOf(graph_, node);
      if (status.ok()) return true;
      if (!options_.partial || !absl::IsFailedPrecondition(status)) return status;
    }
    for (const ValueId id : node.outputs) {
      if (id != ValueId::kNone) graph_.at(id).shape_known = false;
    }
    return false;
  }

  bool HasKnownOperands(const Node& node) const {
    const std::vector<ValueId> reads = ReadValues(node);
    return std::all_of(reads.begin(), reads.end(),
                       [&](ValueId id) { return graph_.at(id).shape_known; });
  }

  absl::Status CheckRanks(const Node& node) const {
    const auto check = [&](const std::vector<ValueId>& ids) -> absl::Status {
      for (const ValueId id : ids) {
        if (id == ValueId::kNone || graph_.at(id).type.shape.rank() <= kMaxRank) continue;
        return Unimplemented("{}: value '{}' has rank {}, at most {} is supported", Where(node),
                             graph_.at(id).name, graph_.at(id).type.shape.rank(), kMaxRank);
      }
      return absl::OkStatus();
    };
    BERTH_RETURN_IF_ERROR(check(node.inputs));
    return check(node.outputs);
  }

  absl::StatusOr<bool> Fold(const Node& node) {
    if (node.outputs.empty() || node.outputs[0] == ValueId::kNone) return false;
    if (!WithinLimits(node)) return false;
    if (auto known = KnownResults(graph_, node)) return Replace(node, *std::move(known));
    if (!evaluator_ || !AllConstant(node) || !node.tail.empty()) return false;
    if (options_.keep_quantized && node.kind == OpKind::kDequantizeLinear) return false;
    std::vector<ConstTensorView> operands;
    for (const ValueId id : node.inputs) {
      operands.push_back(id == ValueId::kNone ? ConstTensorView() : graph_.at(id).constant->view());
    }
    auto results = evaluator_(graph_, node, operands);
    // What the reference cannot do the machine perhaps can.
    if (absl::IsUnimplemented(results.status())) return false;
    if (!results.ok()) return Annotate(results.status(), Where(node));
    return Replace(node, *std::move(results));
  }

  bool AllConstant(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id == ValueId::kNone || graph_.at(id).constant != nullptr;
    });
  }

  int64_t OutputBytes(const Node& node) const {
    int64_t total = 0;
    for (const ValueId id : node.outputs) {
      if (id != ValueId::kNone) total += graph_.at(id).type.ByteCount();
    }
    return total;
  }

  bool WithinLimits(const Node& node) {
    const int64_t output_bytes = OutputBytes(node);
    if (node.kind == OpKind::kConstantOfShape) {
      if (output_bytes > options_.filled_limit_bytes - filled_bytes_) return false;
      filled_bytes_ += output_bytes;
      return true;
    }
    int64_t input_bytes = 0;
    double work = 1;
    for (const ValueId id : node.inputs) {
      if (id == ValueId::kNone) continue;
      input_bytes += graph_.at(id).type.ByteCount();
      work *= static_cast<double>(graph_.at(id).type.shape.ElementCount());
    }
    if (node.kind == OpKind::kConstant) return true;
    if (output_bytes > options_.growth_limit_bytes && output_bytes / 2 > input_bytes) return false;
    if (!IsProduct(node.kind)) return true;
    // A product of M x K and K x N has M * K * N steps, the root of the product of the three sizes.
    work *= static_cast<double>(graph_.at(node.outputs[0]).type.shape.ElementCount());
    return std::sqrt(work) <= static_cast<double>(options_.work_limit);
  }

  static bool IsProduct(OpKind kind) {
    return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kGemm ||
           kind == OpKind::kMatMul || kind == OpKind::kEinsum;
  }

  absl::StatusOr<bool> Replace(const Node& node, std::vector<Tensor> results) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ValueId::kNone) continue;
      Value& value = graph_.at(node.outputs[i]);
      if (i >= results.size() || results[i].type() != value.type) {
        return Internal("{}: folding does not give '{}' as {}", Where(node), value.name,
                        value.type.ToString());
      }
      value.constant = std::make_shared<const Tensor>(std::move(results[i]));
    }
    return true;
  }

  Graph& graph_;
  const ConstantEvaluator& evaluator_;
  const FoldOptions& options_;
  int64_t filled_bytes_ = 0;
};

}  // namespace

absl::Status FoldConstants(Graph& graph, const ConstantEvaluator& evaluator,
                           const FoldOptions& options) {
  DropUnreadOutputs(graph);
  return Folder(graph, evaluator, options).Run();
}

}  // namespace berth

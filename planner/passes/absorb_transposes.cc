#include "planner/passes/absorb_transposes.h"

#include <optional>

#include "kernels/fold/graph_edit.h"
#include "planner/passes/permutation.h"

namespace berth {
namespace {

// The same elements under another shape.
Tensor Reshaped(const Tensor& tensor, Shape shape) {
  Tensor result(TensorType{tensor.dtype(), std::move(shape)});
  std::memcpy(result.bytes().data(), tensor.bytes().data(), tensor.bytes().size());
  return result;
}

// The first axis that is flattened into the features (the last axis of the reshape), where the
// transpose leaves the axes before it alone.
std::optional<int> FirstFlattened(const Permutation& perm, const Shape& transposed,
                                  int64_t features) {
  int axis = transposed.rank();
  int64_t count = 1;
  while (axis > 0 && count < features) count *= transposed[--axis];
  if (count != features) return std::nullopt;
  for (int i = 0; i < axis; ++i) {
    if (perm[static_cast<size_t>(i)] != i) return std::nullopt;
  }
  return axis;
}

class Absorber {
 public:
  explicit Absorber(Graph& graph)
      : graph_(graph),
        reader_(SingleReaders(graph)),
        producer_(ComputeUses(graph).producer),
        names_(graph) {}

  void Run() {
    std::vector<bool> removed(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind != OpKind::kMatMul) continue;
      const int transpose = Absorb(graph_.nodes[i]);
      if (transpose >= 0) removed[static_cast<size_t>(transpose)] = true;
    }
    RemoveNodes(graph_, removed);
  }

 private:
  // The maker of `id` if it is of this kind, without a tail, and `id` is read once.
  int OwnMaker(ValueId id, OpKind kind) const {
    const int maker = producer_[Index(id)];
    if (maker < 0 || reader_[Index(id)] < 0) return -1;
    const Node& node = graph_.nodes[static_cast<size_t>(maker)];
    return node.kind == kind && node.tail.empty() ? maker : -1;
  }

  // The position of the Transpose that is not needed any more, or -1.
  int Absorb(Node& product) {
    const Tensor* weights = graph_.at(product.inputs[1]).constant.get();
    const Shape& rows = graph_.at(product.inputs[0]).type.shape;
    if (weights == nullptr || weights->shape().rank() != 2 || rows.rank() < 2 ||
        rows.ElementCount() == 0 || product.attributes.Int("transA", 0) != 0) {
      return -1;
    }
    const int reshape = OwnMaker(product.inputs[0], OpKind::kReshape);
    if (reshape < 0) return -1;
    ValueId& reshaped = graph_.nodes[static_cast<size_t>(reshape)].inputs[0];
    const int transpose = OwnMaker(reshaped, OpKind::kTranspose);
    if (transpose < 0) return -1;
    const Node& moved = graph_.nodes[static_cast<size_t>(transpose)];
    const std::vector<int64_t> given = moved.attributes.Ints("perm");
    const Permutation perm(given.begin(), given.end());
    const Shape transposed = graph_.at(reshaped).type.shape;
    if (static_cast<int>(perm.size()) != transposed.rank()) return -1;
    const auto first = FirstFlattened(perm, transposed, rows.back());
    if (!first) return -1;
    product.inputs[1] =
        graph_.AddConstant(names_.Fresh(graph_.at(product.inputs[1]).name + "/reordered"),
                           ReorderedRows(*weights, product.attributes.Int("transB", 0) != 0, perm,
                                         transposed, *first));
    reshaped = moved.inputs[0];
    return transpose;
  }

  // Rows stand in the order of the transposed features; put them in that of the source.
  static Tensor ReorderedRows(const Tensor& weights, bool rows_last, const Permutation& perm,
                              const Shape& transposed, int first) {
    Permutation features;
    for (size_t i = static_cast<size_t>(first); i < perm.size(); ++i) {
      features.push_back(perm[i] - first);
    }
    std::vector<int64_t> extents(transposed.begin() + first, transposed.end());
    Permutation order = Inverse(features);
    if (rows_last) {
      extents.insert(extents.begin(), weights.shape()[0]);
      for (int& axis : order) ++axis;
      order.insert(order.begin(), 0);
    } else {
      order.push_back(static_cast<int>(extents.size()));
      extents.push_back(weights.shape()[1]);
    }
    return Reshaped(Permuted(Reshaped(weights, Shape(std::move(extents))), order), weights.shape());
  }

  Graph& graph_;
  std::vector<int> reader_;
  std::vector<int> producer_;
  NameSource names_;
};

}  // namespace

absl::Status AbsorbTransposes(Graph& graph) {
  Absorber(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth

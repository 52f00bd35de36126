// Einsum: repeated axes become diagonals, axes that nothing needs any more are summed, and operands
// meet two by two from the left, as a batched matrix product or, where they share no axis to sum,
// as a product of elements.
#include <algorithm>
#include <map>
#include <optional>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/einsum_equation.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/pair_op.h"

namespace berth {
namespace {

using Extents = std::map<int, int64_t>;  // by label

bool Contains(const EinsumLabels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

absl::StatusOr<EinsumEquation> Parse(const OpCall& call) {
  std::vector<Shape> shapes;
  for (const TensorType& input : call.inputs) shapes.push_back(input.shape);
  return ParseEinsum(call.node->attributes.String("equation", ""), shapes);
}

// An axis of 1 broadcasts.
absl::StatusOr<Extents> ExtentsOf(const OpCall& call, const EinsumEquation& equation) {
  Extents extents;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const Shape& shape = call.inputs[i].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int label = equation.operands[i][static_cast<size_t>(axis)];
      const auto [found, is_new] = extents.emplace(label, shape[axis]);
      if (is_new || found->second == shape[axis] || shape[axis] == 1) continue;
      if (found->second != 1) {
        return InvalidArgument("axis {} of input {} has extent {}, {} elsewhere in the equation",
                               axis, i, shape[axis], found->second);
      }
      found->second = shape[axis];
    }
  }
  return extents;
}

absl::StatusOr<std::vector<TensorType>> EinsumTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 64));
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kNumeric));
  }
  BERTH_RETURN_IF_ERROR(CheckSameDType(call));
  BERTH_ASSIGN_OR_RETURN(const EinsumEquation equation, Parse(call));
  BERTH_ASSIGN_OR_RETURN(const Extents extents, ExtentsOf(call, equation));
  std::vector<int64_t> result;
  for (const int label : equation.result) result.push_back(extents.at(label));
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(result)));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// A value whose axes have labels, each at most once.
struct Labelled {
  ValueId value = ValueId::kNone;
  EinsumLabels labels;
};

class Contraction {
 public:
  Contraction(GraphRewriter& rewrite, const Extents& extents)
      : rewrite_(rewrite), extents_(extents) {}

  // Each pair of axes with one label becomes their diagonal, which stands last.
  Labelled WithoutRepeats(Labelled x) {
    for (auto pair = RepeatedPair(x.labels); pair; pair = RepeatedPair(x.labels)) {
      x = Diagonal(x, pair->first, pair->second);
    }
    return x;
  }

  // Sums the axes that `keep` does not contain.
  Labelled Summed(const Labelled& x, const EinsumLabels& keep) {
    std::vector<int64_t> axes;
    Labelled result{x.value, {}};
    for (size_t axis = 0; axis < x.labels.size(); ++axis) {
      if (Contains(keep, x.labels[axis])) {
        result.labels.push_back(x.labels[axis]);
      } else {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
    if (axes.empty()) return x;
    Attributes attributes;
    attributes.Set("keepdims", int64_t{0});
    result.value =
        rewrite_.Apply(OpKind::kReduceSum, {x.value, rewrite_.Int64s(axes)}, std::move(attributes));
    return result;
  }

  // The product of two, summed over what both have and `keep` does not contain.
  Labelled Product(const Labelled& a, const Labelled& b, const EinsumLabels& keep) {
    EinsumLabels batch, rows, columns, summed;
    for (const int label : a.labels) {
      if (!Contains(b.labels, label)) {
        rows.push_back(label);
      } else {
        (Contains(keep, label) ? batch : summed).push_back(label);
      }
    }
    for (const int label : b.labels) {
      if (!Contains(a.labels, label)) columns.push_back(label);
    }
    if (summed.empty()) return Elementwise(a, b, batch, rows, columns);
    const ValueId left = Flattened(a, batch, rows, summed);
    const ValueId right = Flattened(b, batch, summed, columns);
    Labelled result;
    result.labels = Joined({batch, rows, columns});
    result.value = ApplyReshape(rewrite_, rewrite_.Apply(OpKind::kMatMul, {left, right}),
                                ShapeOf(result.labels));
    return result;
  }

  ValueId InOrder(const Labelled& x, const EinsumLabels& order) {
    std::vector<int64_t> perm;
    bool in_place = true;
    for (const int label : order) {
      const auto at = std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin();
      in_place = in_place && at == static_cast<ptrdiff_t>(perm.size());
      perm.push_back(at);
    }
    return in_place ? x.value : ApplyTranspose(rewrite_, x.value, std::move(perm));
  }

 private:
  static EinsumLabels Joined(const std::vector<EinsumLabels>& lists) {
    EinsumLabels all;
    for (const EinsumLabels& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  }

  Shape ShapeOf(const EinsumLabels& labels) const {
    std::vector<int64_t> extents;
    for (const int label : labels) extents.push_back(extents_.at(label));
    return Shape(std::move(extents));
  }
  int64_t Count(const EinsumLabels& labels) const { return ShapeOf(labels).ElementCount(); }

  static std::optional<std::pair<size_t, size_t>> RepeatedPair(const EinsumLabels& labels) {
    for (size_t i = 0; i < labels.size(); ++i) {
      for (size_t j = i + 1; j < labels.size(); ++j) {
        if (labels[i] == labels[j]) return std::pair(i, j);
      }
    }
    return std::nullopt;
  }

  Labelled Diagonal(const Labelled& x, size_t i, size_t j) {
    const int label = x.labels[i];
    EinsumLabels rest;
    std::vector<int64_t> perm;
    for (size_t axis = 0; axis < x.labels.size(); ++axis) {
      if (axis == i || axis == j) continue;
      rest.push_back(x.labels[axis]);
      perm.push_back(static_cast<int64_t>(axis));
    }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(j));
    const ValueId last = ApplyTranspose(rewrite_, x.value, std::move(perm));
    if (!rewrite_.status().ok()) return {};
    const Shape shape = rewrite_.TypeOf(last).shape;
    const int rank = shape.rank();
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    std::vector<int64_t> flat(shape.begin(), shape.end() - 2);
    flat.push_back(rows * columns);
    // An axis of 1 repeats: then the diagonal is the other one.
    const int64_t step = rows == 1 || columns == 1 ? 1 : columns + 1;
    const ValueId line = ApplyReshape(rewrite_, last, Shape(std::move(flat)));
    rest.push_back(label);
    return {ApplySlice(rewrite_, line, {rank - 2, 0, std::max(rows, columns), step}),
            std::move(rest)};
  }

  // Axes of 1 that stand for longer ones are written out, so that extents can be joined.
  ValueId Whole(ValueId value, const EinsumLabels& labels) {
    const Shape shape = ShapeOf(labels);
    if (!rewrite_.status().ok() || rewrite_.TypeOf(value).shape == shape) return value;
    return rewrite_.Apply(OpKind::kExpand, {value, rewrite_.Int64s(shape.extents())});
  }

  // [batch, rows, columns]
  ValueId Flattened(const Labelled& x, const EinsumLabels& batch, const EinsumLabels& rows,
                    const EinsumLabels& columns) {
    const EinsumLabels order = Joined({batch, rows, columns});
    return ApplyReshape(rewrite_, Whole(InOrder(x, order), order),
                        Shape{Count(batch), Count(rows), Count(columns)});
  }

  Labelled Elementwise(const Labelled& a, const Labelled& b, const EinsumLabels& batch,
                       const EinsumLabels& rows, const EinsumLabels& columns) {
    Labelled result;
    result.labels = Joined({batch, rows, columns});
    const auto aligned = [&](const Labelled& x, const EinsumLabels& own) {
      const ValueId ordered = InOrder(x, own);
      if (!rewrite_.status().ok()) return ValueId::kNone;
      const Shape& shape = rewrite_.TypeOf(ordered).shape;
      std::vector<int64_t> extents;
      for (const int label : result.labels) {
        const auto at = std::find(own.begin(), own.end(), label);
        extents.push_back(at == own.end() ? 1 : shape[static_cast<int>(at - own.begin())]);
      }
      return ApplyReshape(rewrite_, ordered, Shape(std::move(extents)));
    };
    result.value = rewrite_.Apply(
        OpKind::kMul, {aligned(a, Joined({batch, rows})), aligned(b, Joined({batch, columns}))});
    return result;
  }

  GraphRewriter& rewrite_;
  const Extents& extents_;
};

absl::Status ExpandEinsum(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const EinsumEquation equation, Parse(call));
  BERTH_ASSIGN_OR_RETURN(const Extents extents, ExtentsOf(call, equation));
  Contraction contraction(rewrite, extents);
  std::vector<Labelled> operands;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    operands.push_back(contraction.WithoutRepeats({call.node->inputs[i], equation.operands[i]}));
  }
  // What the result and the operands from `next` on still need.
  const auto needed_from = [&](size_t next) {
    EinsumLabels keep = equation.result;
    for (size_t i = next; i < operands.size(); ++i) {
      keep.insert(keep.end(), operands[i].labels.begin(), operands[i].labels.end());
    }
    return keep;
  };
  Labelled sum = operands[0];
  for (size_t i = 1; i < operands.size() && rewrite.status().ok(); ++i) {
    const EinsumLabels after = needed_from(i + 1);
    EinsumLabels shared = after, own = after;
    shared.insert(shared.end(), operands[i].labels.begin(), operands[i].labels.end());
    own.insert(own.end(), sum.labels.begin(), sum.labels.end());
    sum = contraction.Product(contraction.Summed(sum, shared), contraction.Summed(operands[i], own),
                              after);
  }
  sum = contraction.Summed(sum, equation.result);
  const ValueId ordered = contraction.InOrder(sum, equation.result);
  if (!rewrite.status().ok()) return rewrite.status();
  rewrite.Alias(ordered, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& EinsumOp() {
  static const OpDef def{
      .kind = OpKind::kEinsum, .infer_types = EinsumTypes, .expand = ExpandEinsum};
  return def;
}

}  // namespace berth

#include "planner/passes/placements.h"

#include <algorithm>

namespace berth {

Placements::Placements(Graph& graph, std::vector<Node>& nodes)
    : graph_(graph), nodes_(nodes), names_(graph) {}

std::vector<Placement>& Placements::Of(ValueId logical) {
  std::vector<Placement>& known = placements_[logical];
  if (known.empty()) {
    known.push_back({logical, IdentityPermutation(graph_.at(logical).type.shape.rank())});
  }
  return known;
}

const Placement& Placements::Primary(ValueId logical) { return Of(logical).front(); }

ValueId Placements::GetNatural(ValueId logical) {
  return Get(logical, IdentityPermutation(graph_.at(logical).type.shape.rank()));
}

ValueId Placements::Get(ValueId logical, const Permutation& order) {
  const std::vector<Placement>& known = Of(logical);
  for (const Placement& placement : known) {
    if (placement.order == order) return placement.id;
  }
  const Shape& shape = graph_.at(logical).type.shape;
  const Permutation wanted = SignificantOrder(order, shape);
  // One that differs in axes of extent 1 only costs nothing to rename.
  const auto same_bytes = std::find_if(known.begin(), known.end(), [&](const Placement& placement) {
    return SignificantOrder(placement.order, shape) == wanted;
  });
  const Placement from = same_bytes != known.end() ? *same_bytes : known.front();
  const ValueId id = Rearrange(from, logical, order);
  Of(logical).push_back({id, order});
  return id;
}

ValueId Placements::Rearrange(const Placement& from, ValueId logical, const Permutation& order) {
  const TensorType type{graph_.at(logical).type.dtype,
                        Permuted(graph_.at(logical).type.shape, order)};
  const Permutation perm = Compose(Inverse(from.order), order);
  const std::string name = names_.Fresh(graph_.at(logical).name + "/transposed");
  if (const Tensor* constant = graph_.at(from.id).constant.get()) {
    return graph_.AddConstant(name, Permuted(*constant, perm));
  }
  const ValueId id = graph_.AddValue(name, type);
  const Shape& shape = graph_.at(logical).type.shape;
  const bool moves = SignificantOrder(from.order, shape) != SignificantOrder(order, shape);
  nodes_.push_back(moves ? MakeTranspose(name, from.id, id, ToAttribute(perm))
                         : MakeReshape(graph_, name, from.id, id));
  return id;
}

ValueId Placements::GetBroadcast(ValueId logical, const Permutation& order) {
  const Shape& shape = graph_.at(logical).type.shape;
  const int rank = static_cast<int>(order.size());
  if (shape.rank() == rank) return Get(logical, order);
  if (shape.ElementCount() == 1 || IsIdentity(order)) return GetNatural(logical);
  return Get(PaddedTo(logical, rank), order);
}

ValueId Placements::PaddedTo(ValueId logical, int rank) {
  const auto [entry, added] = padded_.emplace(std::pair(logical, rank), ValueId::kNone);
  if (!added) return entry->second;
  const TensorType& type = graph_.at(logical).type;
  std::vector<int64_t> extents(static_cast<size_t>(rank - type.shape.rank()), 1);
  extents.insert(extents.end(), type.shape.begin(), type.shape.end());
  const TensorType padded_type{type.dtype, Shape(std::move(extents))};
  const std::string name = names_.Fresh(graph_.at(logical).name + "/padded");
  const ValueId source = GetNatural(logical);
  if (const Tensor* constant = graph_.at(source).constant.get()) {
    Tensor padded(padded_type);
    std::copy(constant->bytes().begin(), constant->bytes().end(), padded.bytes().begin());
    return entry->second = graph_.AddConstant(name, std::move(padded));
  }
  entry->second = graph_.AddValue(name, padded_type);
  nodes_.push_back(MakeReshape(graph_, name, source, entry->second));
  return entry->second;
}

ValueId Placements::Define(ValueId logical, const Permutation& order) {
  ValueId id = logical;
  if (!IsIdentity(order)) {
    const TensorType type{graph_.at(logical).type.dtype,
                          Permuted(graph_.at(logical).type.shape, order)};
    id = graph_.AddValue(names_.Fresh(graph_.at(logical).name + "/permuted"), type);
  }
  placements_[logical] = {{id, order}};
  return id;
}

void Placements::Rename(ValueId logical, const Permutation& perm, ValueId renamed) {
  // Axis j of `renamed` is axis perm[j] of `logical`, so axis order[k] is axis inverse[order[k]].
  const Permutation inverse = Inverse(perm);
  std::vector<Placement> placements;
  for (const Placement& placement : Of(logical)) {
    placements.push_back({placement.id, Compose(inverse, placement.order)});
  }
  placements_[renamed] = std::move(placements);
}

}  // namespace berth

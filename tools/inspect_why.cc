#include "tools/inspect_why.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "npu_sim/verify.h"
#include "tools/closest_names.h"
#include "tools/inspect_values.h"

namespace berth {
namespace {

constexpr size_t kNamesOffered = 5;

ByteRange RangeOf(const ValueInfo& value) {
  return {value.offset_bytes, value.offset_bytes + value.span_bytes};
}

// The value, its source, the source of that, ...
std::vector<int32_t> Ancestors(const std::vector<ValueInfo>& values, int32_t value) {
  std::vector<int32_t> line;
  for (int32_t v = value; v >= 0 && line.size() <= values.size();) {
    line.push_back(v);
    v = values[static_cast<size_t>(v)].source;
  }
  return line;
}

// How two values of one buffer are related.
Share Relate(const std::vector<ValueInfo>& values, int32_t value, int32_t other) {
  const std::vector<int32_t> mine = Ancestors(values, value);
  const std::vector<int32_t> others = Ancestors(values, other);
  Share share;
  share.other = other;
  for (size_t i = 0; i < mine.size(); ++i) {
    const auto meet = std::find(others.begin(), others.end(), mine[i]);
    if (meet == others.end()) continue;
    share.path.assign(mine.begin(), mine.begin() + static_cast<ptrdiff_t>(i) + 1);
    share.path.insert(share.path.end(), std::make_reverse_iterator(meet), others.rend());
    share.sharing = mine[i] == other   ? Sharing::kSource
                    : mine[i] == value ? Sharing::kDerived
                                       : Sharing::kSibling;
    break;
  }
  return share;
}

// Another slot: who was first, and how the bytes passed on. Values of one slot ask alike.
class Proofs {
 public:
  Proofs(const InspectedPlan& plan, const OrderProver* prover) : plan_(plan), prover_(prover) {}

  void Fill(uint32_t slot, uint32_t other_slot, Share& share) {
    const absl::Span<const Slot> slots = plan_.program().slots;
    share.sharing = Sharing::kOtherTimes;
    share.other_is_earlier = slots[other_slot].begin_command < slots[slot].begin_command;
    if (prover_ == nullptr) return;
    const auto [at, added] =
        known_.try_emplace(std::tuple(other_slot, share.bytes.begin, share.bytes.end));
    if (added) {
      at->second = share.other_is_earlier ? prover_->Prove(other_slot, slot, share.bytes)
                                          : prover_->Prove(slot, other_slot, share.bytes);
    }
    share.proof = at->second;
  }

 private:
  const InspectedPlan& plan_;
  const OrderProver* prover_;
  std::map<std::tuple<uint32_t, int64_t, int64_t>, ReuseProof> known_;
};

std::vector<Share> FindShares(const InspectedPlan& plan, int32_t value, const OrderProver* prover) {
  const std::vector<ValueInfo>& values = plan.info().values;
  const ValueInfo& mine = values[static_cast<size_t>(value)];
  Proofs proofs(plan, prover);
  std::vector<Share> shares;
  for (size_t v = 0; v < values.size(); ++v) {
    const ValueInfo& other = values[v];
    const ByteRange bytes = {std::max(RangeOf(mine).begin, RangeOf(other).begin),
                             std::min(RangeOf(mine).end, RangeOf(other).end)};
    const auto position = static_cast<int32_t>(v);
    if (position == value || other.region != mine.region || bytes.begin >= bytes.end) continue;
    const bool leased = plan.program().regions[mine.region].kind == RegionKind::kPool;
    // No command touches a value of the pool that has no slot.
    if (leased && (mine.slot == kNoSlot || other.slot == kNoSlot)) continue;
    Share share = Relate(values, value, position);
    share.bytes = bytes;
    if (leased && other.slot != mine.slot) {
      proofs.Fill(mine.slot, other.slot, share);
    }
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) {
    const auto key = [&](const Share& share) {
      return std::pair(share.sharing == Sharing::kOtherTimes,
                       values[static_cast<size_t>(share.other)].begin_op);
    };
    return key(a) < key(b);
  });
  return shares;
}

std::optional<int32_t> PositionOf(const InspectedPlan& plan, const std::string& name) {
  const std::vector<ValueInfo>& values = plan.info().values;
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].name == name) return static_cast<int32_t>(v);
  }
  // The interface keeps the model's names, whatever values stand behind it.
  for (size_t v = 0; v < values.size(); ++v) {
    const DramRegion& region = plan.program().regions[values[v].region];
    if (region.kind != RegionKind::kOutput || values[v].source >= 0) continue;
    if (plan.info().outputs[region.index].name == name) return static_cast<int32_t>(v);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int32_t> FindValue(const InspectedPlan& plan, const std::string& name) {
  BERTH_RETURN_IF_ERROR(CheckHasValues(plan));
  if (const std::optional<int32_t> value = PositionOf(plan, name)) return *value;
  std::set<std::string> names;  // an op may be named after what it makes
  for (const ValueInfo& value : plan.info().values) names.insert(value.name);
  for (const OpInfo& op : plan.info().ops) names.insert(op.name);
  std::string offered;
  for (const std::string& close : ClosestNames({names.begin(), names.end()}, name, kNamesOffered)) {
    offered += (offered.empty() ? "" : ", ") + Shown(close);
  }
  return NotFound("no value {} in DRAM and no op of that name; the closest names: {}", Shown(name),
                  offered);
}

bool IsValue(const InspectedPlan& plan, const std::string& name) {
  return PositionOf(plan, name).has_value();
}

absl::StatusOr<Explanation> ExplainValue(const InspectedPlan& plan, const std::string& name) {
  Explanation why;
  BERTH_ASSIGN_OR_RETURN(why.value, FindValue(plan, name));
  why.proved = VerifyProgram(plan.program(), plan.info().config);
  if (!why.proved.ok()) {
    why.shares = FindShares(plan, why.value, nullptr);
    return why;
  }
  BERTH_ASSIGN_OR_RETURN(const OrderProver prover, OrderProver::Create(plan.program()));
  why.shares = FindShares(plan, why.value, &prover);
  return why;
}

std::optional<bool> IsSafe(const InspectedPlan& plan, const Explanation& why, const Share& share) {
  const std::vector<ValueInfo>& values = plan.info().values;
  if (share.sharing == Sharing::kUnrelated) return false;
  if (share.sharing == Sharing::kOtherTimes) {
    if (!share.proof) return std::nullopt;
    return share.proof->unordered_pairs == 0;
  }
  bool overwrites = false, same_elements = true;
  for (const int32_t v : share.path) {
    const ValueInfo& value = values[static_cast<size_t>(v)];
    // The one that the others come from took its bytes from none of them.
    if (std::find(share.path.begin(), share.path.end(), value.source) == share.path.end()) continue;
    overwrites = overwrites || value.storage == ValueStorage::kInPlace;
    same_elements = same_elements && value.storage == ValueStorage::kInPlace;
  }
  if (!overwrites) return true;
  const ValueInfo& a = values[static_cast<size_t>(why.value)];
  const ValueInfo& b = values[static_cast<size_t>(share.other)];
  const ValueInfo& first = a.begin_op <= b.begin_op ? a : b;
  const ValueInfo& second = &first == &a ? b : a;
  // At the op where they meet each element is read, then written.
  if (first.end_op <= second.begin_op + 1) return true;
  if (same_elements) return false;
  return std::nullopt;
}

}  // namespace berth

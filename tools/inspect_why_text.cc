// What `--why` says, for people and for scripts.
#include <algorithm>

#include "planner/onnx/text.h"
#include "tools/inspect_values.h"
#include "tools/inspect_why.h"

namespace berth {
namespace {

std::string_view SharingName(Sharing sharing) {
  switch (sharing) {
    case Sharing::kSource:
      return "source";
    case Sharing::kDerived:
      return "derived";
    case Sharing::kSibling:
      return "sibling";
    case Sharing::kOtherTimes:
      return "other_times";
    case Sharing::kUnrelated:
      break;
  }
  return "unrelated";
}

std::string OpText(const InspectedPlan& plan, uint32_t op) {
  return fmt::format("op {} {}", op, Shown(plan.OpName(op)));
}

// "written over 'x' at op 3 'relu'": how a value came to the bytes of its source.
std::string StepText(const InspectedPlan& plan, const ValueInfo& value) {
  const std::string source = Shown(plan.info().values[static_cast<size_t>(value.source)].name);
  switch (value.storage) {
    case ValueStorage::kOwn:
      break;
    case ValueStorage::kView:
      return fmt::format("{} is a view of {}: no bytes move", Shown(value.name), source);
    case ValueStorage::kPart:
      return fmt::format("{} is computed straight into its part of {}", Shown(value.name), source);
    case ValueStorage::kInPlace:
      return fmt::format("{} is written over {}, each element after it was read, at {}",
                         Shown(value.name), source, OpText(plan, value.begin_op));
  }
  return fmt::format("{} has the bytes of {}", Shown(value.name), source);
}

// The steps of the path, each from a value to the source that gave it its bytes.
std::string PathText(const InspectedPlan& plan, const Share& share) {
  const std::vector<ValueInfo>& values = plan.info().values;
  std::string text;
  for (const int32_t v : share.path) {
    const ValueInfo& value = values[static_cast<size_t>(v)];
    const bool on_path =
        std::find(share.path.begin(), share.path.end(), value.source) != share.path.end();
    if (!on_path || value.source < 0) continue;
    if (!text.empty()) text += "; ";
    text += StepText(plan, value);
  }
  return text;
}

// Different parts of one value: their ranges may interleave, their elements are not common.
bool AreDifferentParts(const InspectedPlan& plan, const Share& share) {
  if (share.sharing != Sharing::kSibling || share.path.size() != 3) return false;
  return std::all_of(share.path.begin(), share.path.end(), [&](int32_t v) {
    const ValueInfo& value = plan.info().values[static_cast<size_t>(v)];
    return v == share.path[1] || value.storage == ValueStorage::kPart;
  });
}

std::string LinkText(const InspectedPlan& plan, const OrderLink& link) {
  if (link.same_engine) {
    return fmt::format("{} comes after command {} in the queue of its engine",
                       CommandText(plan, link.command), link.after);
  }
  return fmt::format(
      "{} waits for {} >= {}, which command {} signals", CommandText(plan, link.command),
      EngineName(plan.program().engines[link.wait.engine]), link.wait.count, link.after);
}

std::string ProofText(const InspectedPlan& plan, const ReuseProof& proof) {
  if (proof.way.empty() && proof.pairs == 0) return "      no two commands meet in these bytes\n";
  std::string text =
      fmt::format("      last:  {}\n      first: {}\n", CommandText(plan, proof.last_before),
                  CommandText(plan, proof.first_after));
  for (const OrderLink& link : proof.way) {
    text += fmt::format("      {}\n", LinkText(plan, link));
  }
  if (proof.unordered_pairs > 0) {
    return text + fmt::format("      NOT ordered: {} of {} pairs of commands that meet in a byte\n",
                              proof.unordered_pairs, proof.pairs);
  }
  if (proof.apart) {
    return text +
           "      confirmed: every command that touches the bytes of the one has finished before "
           "any "
           "touches those of the other\n";
  }
  return text + fmt::format(
                    "      confirmed: the two follow each other tile by tile; {} {} pairs of "
                    "commands that meet in a byte are ordered\n",
                    proof.all_pairs ? "all" : "the last against the first,", proof.pairs);
}

std::string SafetyText(std::optional<bool> safe) {
  if (!safe) return "cannot be confirmed from the tables";
  return *safe ? "confirmed" : "NOT SAFE: both are needed at once";
}

// An earlier share of the same slot and bytes, whose proof is this one's too.
const Share* SameProof(const InspectedPlan& plan, const Explanation& why, const Share& share) {
  const std::vector<ValueInfo>& values = plan.info().values;
  for (const Share& before : why.shares) {
    if (&before == &share) break;
    if (before.sharing == Sharing::kOtherTimes && before.bytes.begin == share.bytes.begin &&
        before.bytes.end == share.bytes.end &&
        values[static_cast<size_t>(before.other)].slot ==
            values[static_cast<size_t>(share.other)].slot) {
      return &before;
    }
  }
  return nullptr;
}

std::string OtherTimesText(const InspectedPlan& plan, const Explanation& why, const Share& share) {
  std::string text =
      fmt::format("another buffer, {}", share.other_is_earlier ? "which had the bytes before"
                                                               : "which gets the bytes afterwards");
  if (!share.proof) {
    return text + "\n      cannot be confirmed: the program does not verify\n";
  }
  if (const Share* same = SameProof(plan, why, share)) {
    return text + fmt::format(", that of {}: as above\n",
                              Shown(plan.info().values[static_cast<size_t>(same->other)].name));
  }
  return text + "\n" + ProofText(plan, *share.proof);
}

std::string ShareText(const InspectedPlan& plan, const Explanation& why, const Share& share) {
  const ValueInfo& other = plan.info().values[static_cast<size_t>(share.other)];
  std::string text = fmt::format("  {} bytes [{}, {}), live in ops [{}, {}): ", Shown(other.name),
                                 share.bytes.begin, share.bytes.end, other.begin_op, other.end_op);
  if (share.sharing == Sharing::kUnrelated) return text + "nothing says how: NOT SAFE\n";
  if (share.sharing == Sharing::kOtherTimes) return text + OtherTimesText(plan, why, share);
  text += PathText(plan, share);
  if (AreDifferentParts(plan, share)) return text + "; no element is common\n";
  return text + fmt::format(" ({})\n", SafetyText(IsSafe(plan, why, share)));
}

nlohmann::ordered_json CommandJson(const InspectedPlan& plan, uint32_t command) {
  const Command& c = plan.program().commands[command];
  return {{"command", command},
          {"engine", EngineName(plan.program().engines[c.engine])},
          {"opcode", OpcodeName(c.opcode)},
          {"op", c.op},
          {"op_name", plan.OpName(c.op)}};
}

nlohmann::ordered_json ProofJson(const InspectedPlan& plan, const ReuseProof& proof) {
  nlohmann::ordered_json json = {{"pairs", proof.pairs},
                                 {"unordered_pairs", proof.unordered_pairs},
                                 {"apart", proof.apart},
                                 {"all_pairs", proof.all_pairs}};
  if (proof.way.empty()) return json;
  json["last_before"] = CommandJson(plan, proof.last_before);
  json["first_after"] = CommandJson(plan, proof.first_after);
  nlohmann::ordered_json way = nlohmann::ordered_json::array();
  for (const OrderLink& link : proof.way) {
    nlohmann::ordered_json step = CommandJson(plan, link.command);
    step["after_command"] = link.after;
    step["by"] = link.same_engine ? "queue" : "wait";
    if (!link.same_engine) {
      step["wait"] = {{"engine", EngineName(plan.program().engines[link.wait.engine])},
                      {"count", link.wait.count}};
    }
    way.push_back(std::move(step));
  }
  json["way"] = std::move(way);
  return json;
}

nlohmann::ordered_json ShareJson(const InspectedPlan& plan, const Explanation& why,
                                 const Share& share) {
  const ValueInfo& other = plan.info().values[static_cast<size_t>(share.other)];
  nlohmann::ordered_json json = {{"name", other.name},
                                 {"relation", SharingName(share.sharing)},
                                 {"begin_offset_bytes", share.bytes.begin},
                                 {"end_offset_bytes", share.bytes.end},
                                 {"begin_op", other.begin_op},
                                 {"end_op", other.end_op}};
  const std::optional<bool> safe = IsSafe(plan, why, share);
  json["safe"] = safe ? nlohmann::ordered_json(*safe) : nlohmann::ordered_json();
  if (share.sharing == Sharing::kOtherTimes) {
    json["had_bytes"] = share.other_is_earlier ? "before" : "afterwards";
    if (share.proof) json["order"] = ProofJson(plan, *share.proof);
    return json;
  }
  json["because"] = PathText(plan, share);
  if (AreDifferentParts(plan, share))
    json["because"] = PathText(plan, share) + "; no element is common";
  return json;
}

}  // namespace

std::string ExplanationText(const InspectedPlan& plan, const Explanation& why) {
  const ValueInfo& value = plan.info().values[static_cast<size_t>(why.value)];
  std::string text = fmt::format("{} {}: {} bytes at {}", Shown(value.name), value.type.ToString(),
                                 value.span_bytes, PlaceText(plan, value));
  if (value.slot != kNoSlot) text += fmt::format(", slot {}", value.slot);
  text += fmt::format("\n  live from {} to {}\n  bytes: {}\n", OpText(plan, value.begin_op),
                      OpText(plan, LastOp(value)),
                      value.source < 0 ? StorageText(plan, value) : StepText(plan, value));
  if (!value.note.empty()) text += fmt::format("  note: {}\n", OneLine(value.note, 1000));
  if (!why.proved.ok()) {
    text += fmt::format("  the program does not verify, so no order of commands is sure: {}\n",
                        OneLine(ToStd(why.proved.message()), 1000));
  }
  if (why.shares.empty()) return text + "Shares bytes with no other value\n";
  text += fmt::format("Shares bytes with {} other value{}\n", why.shares.size(),
                      why.shares.size() == 1 ? "" : "s");
  for (const Share& share : why.shares) text += ShareText(plan, why, share);
  return text;
}

nlohmann::ordered_json ExplanationJson(const InspectedPlan& plan, const Explanation& why) {
  nlohmann::ordered_json json = ValueJson(plan, plan.info().values[static_cast<size_t>(why.value)]);
  json["verified"] = why.proved.ok();
  if (!why.proved.ok()) json["not_verified_because"] = ToStd(why.proved.message());
  nlohmann::ordered_json shares = nlohmann::ordered_json::array();
  for (const Share& share : why.shares) shares.push_back(ShareJson(plan, why, share));
  json["shares"] = std::move(shares);
  return json;
}

}  // namespace berth

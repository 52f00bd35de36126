// `berth inspect --why VALUE`: where a value stands, how it came to those bytes, who else has them
// and why that is safe.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/inspect_order.h"

namespace berth {

enum class Sharing : uint8_t {
  kSource,      // the other's bytes became this value's: view, part, in place
  kDerived,     // the other way round
  kSibling,     // both come from a third value
  kOtherTimes,  // another slot: the bytes were leased before or after
  kUnrelated,   // one slot, but nothing in the table says how: never of Berth's planner
};

struct Share {
  int32_t other = 0;  // position among the values
  Sharing sharing = Sharing::kUnrelated;
  ByteRange bytes;            // of the region
  std::vector<int32_t> path;  // kSource, kDerived, kSibling: values from this one to the other
  std::optional<ReuseProof> proof;  // kOtherTimes, in a program that verifies
  bool other_is_earlier = false;    // kOtherTimes
};

struct Explanation {
  int32_t value = 0;
  std::vector<Share> shares;  // related ones first, then by time
  absl::Status proved;        // whether the program verifies
};

// NotFound lists the closest names, of ops too (inspect_op.h). Outputs go by the model's name as
// well.
absl::StatusOr<int32_t> FindValue(const InspectedPlan& plan, const std::string& name);

bool IsValue(const InspectedPlan& plan, const std::string& name);

// Verifies the program first: without a proof the order of commands means nothing.
absl::StatusOr<Explanation> ExplainValue(const InspectedPlan& plan, const std::string& name);

// inspect_why_text.cc
std::string ExplanationText(const InspectedPlan& plan, const Explanation& why);
nlohmann::ordered_json ExplanationJson(const InspectedPlan& plan, const Explanation& why);

// Of one share of `why`. For values of one slot: without an in-place step between them they are the
// same elements under two names, or different elements; with one, the earlier is not needed beyond
// the op that begins the later. nullopt: the tables cannot tell (no proof; strided parts of a value
// of which one was overwritten).
std::optional<bool> IsSafe(const InspectedPlan& plan, const Explanation& why, const Share& share);

}  // namespace berth

// One ONNX backend test case through the whole path: import, plan, proof, machine.
#pragma once

#include <string>

namespace berth {

enum class CaseOutcome { kPassed, kRefused /* a clean error */, kWrong /* ran, wrong values */ };

struct CaseResult {
  CaseOutcome outcome = CaseOutcome::kPassed;
  std::string message;  // of a refusal or a mismatch
};

// `folder` holds model.onnx and test_data_set_N/{input,output}_i.pb. Operands that only carry a
// shape, axes or counts are bound as constants; everything else is bound at run time.
CaseResult RunCase(const std::string& folder);

}  // namespace berth

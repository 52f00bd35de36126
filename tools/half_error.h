// What storing floats at half size costs in accuracy: the plan beside the same model planned in
// float32, both run on the same random inputs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/compile.h"
#include "tools/model_io.h"

namespace berth {

struct HalfError {
  std::vector<std::string> outputs;     // names
  std::vector<Difference> differences;  // of each, from its float32 values
  std::vector<bool> same_top;           // the largest element stands at the same place
  double milliseconds = 0;              // planning in float32 and both runs
};

// Runs the bundle at `bundle_path`, planned from `model_path` with `options`. Fails where the model
// does not run on random inputs (indices out of range, for example).
absl::StatusOr<HalfError> MeasureHalfError(const std::string& model_path,
                                           const std::string& bundle_path, CompileOptions options,
                                           uint64_t seed);

std::string HalfErrorText(const HalfError& error);
// outputs[].{name,max_abs_error,max_rel_error,same_top_value}, max_abs_error, max_rel_error,
// error_ms.
void AddHalfErrorJson(const HalfError& error, nlohmann::ordered_json& json);

}  // namespace berth

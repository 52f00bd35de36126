// Flags that say what to compile for, shared by every subcommand that compiles.
#pragma once

#include <string>
#include <vector>

#include "planner/compile.h"
#include "tools/command.h"

namespace berth {

struct CompileFlags {
  std::string target = "mobile";
  std::vector<std::string> shapes;  // name=1x3x224x224
  std::vector<std::string> ranges;  // name=1:8
  std::vector<std::string> dump_stages;
  std::string dtype = "fp32";
  bool no_double_buffer = false;
  bool expose_state = false, fresh_state = false;
  std::vector<std::string> states;          // input=output
  std::vector<std::string> initial_states;  // input=file.npy
  std::vector<std::string> without;         // means to leave out
  int64_t pool_budget_bytes = 0;
};

void AddCompileFlags(CLI::App& command, CompileFlags& flags);

// Loads the target, parses the shapes, links the reference kernels in as the evaluator.
absl::StatusOr<CompileOptions> ToCompileOptions(const CompileFlags& flags);

// "1x3x224x224" (or with commas); "scalar" for rank 0.
absl::StatusOr<Shape> ParseShape(std::string_view text);

// "batch=1:8".
absl::StatusOr<DimRange> ParseRange(const std::string& text);

// "key=value".
absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& text,
                                                                    std::string_view flag);

}  // namespace berth

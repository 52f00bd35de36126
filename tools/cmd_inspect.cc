// berth inspect BUNDLE: what the file says, without running or proving it (see `berth verify`), and
// views of its plan: --timeline, --interference, --why, --memory-map, --program.
#include <memory>
#include <optional>

#include "base/write_file.h"
#include "tools/command.h"
#include "tools/inspect_interference.h"
#include "tools/inspect_memory_map.h"
#include "tools/inspect_op.h"
#include "tools/inspect_program.h"
#include "tools/inspect_summary.h"
#include "tools/inspect_timeline.h"
#include "tools/inspect_why.h"
#include "tools/json_output.h"
#include "tools/report_text.h"

namespace berth {
namespace {

struct Flags {
  std::string bundle, value, map_file, program_file;
  bool json = false, timeline = false, interference = false, why = false, map = false;
  bool program = false;

  bool HasView() const { return timeline || interference || why || map || program; }
};

// What was asked for, made before anything is printed: a failure leaves no half an answer.
class Views {
 public:
  Views(const Flags& flags, const InspectedPlan& plan) : flags_(flags), plan_(plan) {}

  absl::Status Make() {
    if (flags_.timeline) BERTH_RETURN_IF_ERROR(AddTimeline());
    if (flags_.interference) AddInterference();
    if (flags_.why) BERTH_RETURN_IF_ERROR(AddWhy());
    if (flags_.map) {
      BERTH_RETURN_IF_ERROR(AddFile("memory_map", flags_.map_file,
                                    MemoryMapPage(MemoryMapData(plan_)), ": open it in a browser"));
    }
    if (flags_.program) {
      BERTH_RETURN_IF_ERROR(
          AddFile("program", flags_.program_file, ProgramText(plan_), ": berth simulate reads it"));
    }
    return absl::OkStatus();
  }

  const std::string& text() const { return text_; }
  nlohmann::ordered_json& json() { return json_; }

 private:
  absl::Status AddTimeline() {
    if (flags_.json) {
      BERTH_ASSIGN_OR_RETURN(json_["timeline"], TimelineJson(plan_));
      return absl::OkStatus();
    }
    BERTH_ASSIGN_OR_RETURN(const std::string text, TimelineText(plan_));
    Append(text);
    return absl::OkStatus();
  }

  void AddInterference() {
    if (flags_.json) {
      json_["interference"] = InterferenceJson(plan_);
    } else {
      Append(InterferenceText(plan_));
    }
  }

  // A value, an op, or both: models often name an op after what it makes.
  absl::Status AddWhy() {
    const std::optional<uint32_t> op = FindOp(plan_, flags_.value);
    if (!op || IsValue(plan_, flags_.value)) BERTH_RETURN_IF_ERROR(AddWhyValue());
    if (!op) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(const OpExplanation why, ExplainOp(plan_, *op));
    if (flags_.json) {
      json_[json_.contains("why") ? "why_op" : "why"] = OpExplanationJson(plan_, why);
    } else {
      Append(OpExplanationText(plan_, why));
    }
    return absl::OkStatus();
  }

  absl::Status AddWhyValue() {
    BERTH_ASSIGN_OR_RETURN(const Explanation why, ExplainValue(plan_, flags_.value));
    if (flags_.json) {
      json_["why"] = ExplanationJson(plan_, why);
    } else {
      Append(ExplanationText(plan_, why));
    }
    return absl::OkStatus();
  }

  absl::Status AddFile(const char* key, const std::string& file, const std::string& bytes,
                       std::string_view use) {
    BERTH_RETURN_IF_ERROR(WriteFile(file, bytes));
    json_[key] = {{"file", file}, {"file_bytes", bytes.size()}};
    Append(fmt::format("Wrote '{}' ({} bytes){}\n", file, bytes.size(), use));
    return absl::OkStatus();
  }

  void Append(const std::string& text) {
    if (!text_.empty()) text_ += "\n";
    text_ += text;
  }

  const Flags& flags_;
  const InspectedPlan& plan_;
  std::string text_;
  nlohmann::ordered_json json_;
};

absl::Status ShowViews(const Flags& flags, std::shared_ptr<const Bundle> bundle) {
  absl::StatusOr<InspectedPlan> plan = MakeInspectedPlan(std::move(bundle));
  if (!plan.ok()) return Annotate(plan.status(), fmt::format("bundle '{}'", flags.bundle));
  Views views(flags, *plan);
  BERTH_RETURN_IF_ERROR(views.Make());
  if (!flags.json) {
    fmt::print("{}", views.text());
    return absl::OkStatus();
  }
  nlohmann::ordered_json json = {{"bundle", flags.bundle}};
  AddPlanJson(plan->info(), json);
  json.update(views.json());
  PrintJson(json);
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const Bundle> bundle,
                         Bundle::Open(flags.bundle, LoadLevel::kTrusted));
  if (flags.HasView() && bundle->info().dynamic) {
    return Unimplemented(
        "'{}' is a dynamic bundle: it has no plan to view before its shapes are pinned "
        "(berth compile --shape)",
        flags.bundle);
  }
  if (flags.HasView()) return ShowViews(flags, std::move(bundle));
  if (!flags.json) return PrintSummary(flags.bundle, *bundle);
  nlohmann::ordered_json json = {{"bundle", flags.bundle}};
  BERTH_RETURN_IF_ERROR(AddSummaryJson(flags.bundle, *bundle, json));
  PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

void AddInspectCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("inspect", "What a bundle holds: memory, plans, ops");
  command->add_option("bundle", flags->bundle, "Bundle file")->required();
  command->add_flag("--timeline", flags->timeline, "When each value's bytes are needed");
  command->add_flag("--interference", flags->interference,
                    "Which buffers need bytes at the same time, and the heaviest clique");
  CLI::Option* why = command->add_option(
      "--why", flags->value,
      "Of a value: what it shares its bytes with, and why that is safe. Of an op: its tile, what "
      "stays on chip, what bounds it, what was tried");
  CLI::Option* map =
      command->add_option("--memory-map", flags->map_file, "Write a page that draws the memories");
  CLI::Option* program = command->add_option("--program", flags->program_file,
                                             "Write the program as text (docs/program.md)");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, why, map, program, &action] {
    flags->why = why->count() > 0;
    flags->program = program->count() > 0;
    flags->map = map->count() > 0;
    action = [flags] { return Run(*flags); };
  });
}

}  // namespace berth

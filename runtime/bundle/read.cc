#include <algorithm>
#include <future>
#include <set>

#include "base/utf8.h"
#include "kernels/host_functions.h"
#include "npu_sim/verify.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/dynamic_model.h"
#include "runtime/bundle/metadata.h"
#include "runtime/bundle/sections.h"
#include "runtime/bundle/states.h"

namespace berth {
namespace {

// From here on a second thread is worth its beginning.
constexpr size_t kManyCommands = 1000, kManyBytes = size_t{1} << 22;

constexpr size_t kMostNameBytes = 100;  // of a name in a message

template <typename T>
absl::Status ReadArray(const Sections& sections, SectionKind kind, absl::Span<const T>& result) {
  const absl::Span<const std::byte> bytes = sections.Of(kind);
  if (bytes.size() % sizeof(T) != 0) {
    return DataLoss("section {} ({}): {} bytes are no whole number of {}-byte records",
                    static_cast<size_t>(kind), SectionName(kind), bytes.size(), sizeof(T));
  }
  // Sections begin on pages, so every record is aligned.
  result = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  return absl::OkStatus();
}

// Inputs and outputs agree with their regions.
absl::Status CheckInterface(const BundleContents& info) {
  std::vector<int> seen_inputs(info.inputs.size()), seen_outputs(info.outputs.size());
  int constants = 0, pools = 0;
  for (size_t i = 0; i < info.program.regions.size(); ++i) {
    const DramRegion& region = info.program.regions[i];
    constants += region.kind == RegionKind::kConstants;
    pools += region.kind == RegionKind::kPool;
    const bool input = region.kind == RegionKind::kInput;
    if (!input && region.kind != RegionKind::kOutput) continue;
    const std::vector<TensorInfo>& tensors = input ? info.inputs : info.outputs;
    if (region.index >= tensors.size() ||
        tensors[region.index].type.ByteCount() != region.size_bytes ||
        (input ? seen_inputs : seen_outputs)[region.index]++ != 0) {
      return DataLoss(
          "section 0 (metadata), regions {}: {} {} of {} bytes does not match the interface", i,
          input ? "input" : "output", region.index, region.size_bytes);
    }
  }
  const auto once = [](int count) { return count == 1; };
  if (constants != 1 || pools != 1 || !std::all_of(seen_inputs.begin(), seen_inputs.end(), once) ||
      !std::all_of(seen_outputs.begin(), seen_outputs.end(), once)) {
    return DataLoss(
        "section 0 (metadata), regions: need one of constants, one pool, and one for "
        "each of {} inputs and {} outputs",
        info.inputs.size(), info.outputs.size());
  }
  return absl::OkStatus();
}

// Callers tell inputs apart by name, and people read them.
absl::Status CheckNames(const BundleContents& info) {
  std::set<size_t> states;  // nobody sees their names
  for (const StateInfo& state : info.states) states.insert(state.input);
  std::set<std::string_view> seen;
  for (const auto* tensors : {&info.inputs, &info.outputs}) {
    const bool are_inputs = tensors == &info.inputs;
    for (size_t i = 0; i < tensors->size(); ++i) {
      const std::string& name = (*tensors)[i].name;
      if (!IsUtf8(name)) {
        return DataLoss("section 0 (metadata), {} {}: its name is not UTF-8",
                        are_inputs ? "inputs" : "outputs", i);
      }
      const bool is_callers = are_inputs && states.count(i) == 0 && !name.empty();
      if (is_callers && !seen.insert(name).second) {
        return DataLoss("section 0 (metadata), inputs {}: '{}' is the name of another", i,
                        name.substr(0, kMostNameBytes));
      }
    }
  }
  return absl::OkStatus();
}

// A host function must be there, and write what the proof takes it to write.
absl::Status CheckHostCall(const Command& command, size_t index) {
  const HostParams& host = command.params.host;
  if (host.function >= KernelHostFunctions().size()) {
    return DataLoss("section 2 (commands), index {}: host function {} of {}", index, host.function,
                    KernelHostFunctions().size());
  }
  uint32_t present = 0, bit = 1;
  for (const Operand* o : {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
    present |= o->present() ? bit : 0;
    bit *= 2;
  }
  const uint32_t written = HostOutputMask(static_cast<HostFunctionId>(host.function)) & present;
  if (host.output_mask == written) return absl::OkStatus();
  return DataLoss("section 2 (commands), index {}: writes operands {:#x}, host function {} {:#x}",
                  index, host.output_mask, host.function, written);
}

// What commands and slots name beyond the program itself.
absl::Status CheckTablePositions(const ProgramView& program, const BundleContents& info) {
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command& command = program.commands[i];
    if (command.op >= info.ops.size()) {
      return DataLoss("section 2 (commands), index {}: op {} of {}", i, command.op,
                      info.ops.size());
    }
    if (command.opcode == Opcode::kHostCall) BERTH_RETURN_IF_ERROR(CheckHostCall(command, i));
  }
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i].name >= info.buffer_names.size()) {
      return DataLoss("section 4 (slots), index {}: name {} of {}", i, program.slots[i].name,
                      info.buffer_names.size());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckConflictShape(const ConflictGraphView& graph, size_t commands) {
  if (graph.predecessor_count.size() != commands || graph.successor_begin.size() != commands + 1) {
    return DataLoss("section 5 (predecessor counts): {} counts and {} begins for {} commands",
                    graph.predecessor_count.size(), graph.successor_begin.size(), commands);
  }
  return absl::OkStatus();
}

// Counts, order and ranges: enough that an executor that trusts the graph cannot leave its arrays
// or wait for ever.
absl::Status CheckConflictEdges(const ConflictGraphView& graph) {
  const size_t commands = graph.predecessor_count.size();
  std::vector<uint32_t> counts(commands, 0);
  if (graph.successor_begin[0] != 0 || graph.successor_begin[commands] != graph.successors.size()) {
    return DataLoss("section 6 (successor begins): do not cover the {} successors",
                    graph.successors.size());
  }
  for (size_t i = 0; i < commands; ++i) {
    const uint32_t end = graph.successor_begin[i + 1];
    if (graph.successor_begin[i] > end || end > graph.successors.size()) {
      return DataLoss("section 6 (successor begins), index {}: {} does not lie within [{}, {}]",
                      i + 1, end, graph.successor_begin[i], graph.successors.size());
    }
    for (uint32_t k = graph.successor_begin[i]; k < end; ++k) {
      const uint32_t successor = graph.successors[k];
      if (successor <= i || successor >= commands) {
        return DataLoss("section 7 (successors), index {}: {} is no later command than {}", k,
                        successor, i);
      }
      if (k > graph.successor_begin[i] && graph.successors[k - 1] >= successor) {
        return DataLoss("section 7 (successors), index {}: {} behind {}", k, successor,
                        graph.successors[k - 1]);
      }
      ++counts[successor];
    }
  }
  for (size_t i = 0; i < commands; ++i) {
    if (counts[i] != graph.predecessor_count[i]) {
      return DataLoss("section 5 (predecessor counts), index {}: {} where there are {}", i,
                      graph.predecessor_count[i], counts[i]);
    }
  }
  return absl::OkStatus();
}

// More edges than the conflicts need only make an executor wait, and an older planner wrote some.
absl::Status CheckConflictsOrdered(const ProgramView& program, const ConflictGraphView& graph) {
  const std::optional<Unordered> pair = FindUnordered(program, graph);
  if (!pair) return absl::OkStatus();
  return DataLoss(
      "section 7 (successors), command {}: conflicts with command {}, to which no path "
      "leads from it",
      pair->earlier, pair->later);
}

absl::Status CheckHashes(const Sections& sections) {
  for (uint32_t i = 0; i < kSectionCount; ++i) {
    BERTH_RETURN_IF_ERROR(CheckHash(sections, static_cast<SectionKind>(i)));
  }
  return absl::OkStatus();
}

// On a thread of its own where there is enough to do (and a thread to be had), else when its result
// is asked for.
template <typename Check>
std::future<absl::Status> Beside(bool is_much, Check check) {
  return std::async(is_much ? std::launch::async | std::launch::deferred : std::launch::deferred,
                    std::move(check));
}

// A dynamic model has no program; its graph was checked as it was read.
absl::Status CheckDynamic(const BundleContents& info, const ProgramView& program) {
  if (!program.commands.empty() || !program.waits.empty() || !program.slots.empty()) {
    return DataLoss("section 2 (commands): {} commands beside the graph of a dynamic model",
                    program.commands.size());
  }
  return VerifyDynamicGraph(*info.dynamic->graph);
}

// A static plan for the same machine, of inputs that the model takes, without states.
absl::Status CheckMaximum(const BundleContents& info, const BundleContents& maximum) {
  if (maximum.dynamic || !maximum.states.empty()) {
    return DataLoss("dynamic, maximum: a {} where a static plan without states is due",
                    maximum.dynamic ? "dynamic model" : "plan with states");
  }
  if (Fingerprint(maximum.config) != Fingerprint(info.config)) {
    return DataLoss("dynamic, maximum: planned for '{}', the model for '{}'", maximum.config.name,
                    info.config.name);
  }
  if (maximum.inputs.size() != info.inputs.size() ||
      maximum.outputs.size() != info.outputs.size()) {
    return DataLoss("dynamic, maximum: {} inputs and {} outputs, the model has {} and {}",
                    maximum.inputs.size(), maximum.outputs.size(), info.inputs.size(),
                    info.outputs.size());
  }
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    if (maximum.inputs[i].type.dtype != info.inputs[i].type.dtype) {
      return DataLoss("dynamic, maximum: input {} is {}, the model's {}", i,
                      DTypeName(maximum.inputs[i].type.dtype),
                      DTypeName(info.inputs[i].type.dtype));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Bundle::Check() const {
  BERTH_RETURN_IF_ERROR(CheckNames(info_));
  if (info_.dynamic) return CheckDynamic(info_, program_);
  BERTH_RETURN_IF_ERROR(CheckInterface(info_));
  BERTH_RETURN_IF_ERROR(CheckStates(info_));
  BERTH_RETURN_IF_ERROR(CheckConflictShape(conflicts_, program_.commands.size()));
  for (const DramRegion& region : program_.regions) {
    if (region.kind == RegionKind::kConstants &&
        region.size_bytes != static_cast<int64_t>(constants_.size())) {
      return DataLoss("section 1 (constants): {} bytes, the region says {}", constants_.size(),
                      region.size_bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status Bundle::Prove() const {
  if (info_.dynamic) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(CheckConflictEdges(conflicts_));
  BERTH_RETURN_IF_ERROR(VerifyPlaces(program_, info_.config));
  BERTH_RETURN_IF_ERROR(CheckTablePositions(program_, info_));
  auto conflicts = Beside(program_.commands.size() > kManyCommands,
                          [&] { return CheckConflictsOrdered(program_, conflicts_); });
  BERTH_RETURN_IF_ERROR(VerifyExecution(program_));
  return conflicts.get();
}

absl::Status Bundle::Read(absl::Span<const std::byte> bytes, LoadLevel level) {
  const bool is_full = level == LoadLevel::kFull;
  BERTH_ASSIGN_OR_RETURN(const Sections sections, ReadSections(bytes));
  if (is_full) BERTH_RETURN_IF_ERROR(CheckPadding(sections, bytes));
  BERTH_RETURN_IF_ERROR(CheckHash(sections, SectionKind::kMetadata));
  BERTH_RETURN_IF_ERROR(ReadMetadata(sections.Of(SectionKind::kMetadata),
                                     sections.Of(SectionKind::kConstants), info_));
  if (Fingerprint(info_.config) != sections.header.target_fingerprint) {
    return DataLoss("header, offset 24: the target's fingerprint is not that of the metadata");
  }
  program_.engines = info_.program.engines;
  program_.regions = info_.program.regions;
  program_.scratchpad_bytes = info_.program.scratchpad_bytes;
  program_.accumulator_bytes = info_.program.accumulator_bytes;
  BERTH_RETURN_IF_ERROR(ReadArray(sections, SectionKind::kCommands, program_.commands));
  BERTH_RETURN_IF_ERROR(ReadArray(sections, SectionKind::kWaits, program_.waits));
  BERTH_RETURN_IF_ERROR(ReadArray(sections, SectionKind::kSlots, program_.slots));
  BERTH_RETURN_IF_ERROR(
      ReadArray(sections, SectionKind::kPredecessorCounts, conflicts_.predecessor_count));
  BERTH_RETURN_IF_ERROR(
      ReadArray(sections, SectionKind::kSuccessorBegins, conflicts_.successor_begin));
  BERTH_RETURN_IF_ERROR(ReadArray(sections, SectionKind::kSuccessors, conflicts_.successors));
  constants_ = sections.Of(SectionKind::kConstants);
  if (!is_full) return Check();
  // What a hash finds goes before what comes of it.
  auto hashes = Beside(bytes.size() > kManyBytes, [&] { return CheckHashes(sections); });
  const absl::Status status = Check();
  const absl::Status proved = status.ok() ? Prove() : status;
  BERTH_RETURN_IF_ERROR(hashes.get());
  return proved;
}

absl::Status Bundle::ReadMaximum(LoadLevel level) {
  if (!info_.dynamic || !info_.dynamic->maximum) return absl::OkStatus();
  const MaximumPlan& plan = *info_.dynamic->maximum;
  if (plan.contents == nullptr && plan.stored.empty()) return absl::OkStatus();
  const auto load = [&]() -> absl::Status {
    if (plan.contents != nullptr) {
      BERTH_ASSIGN_OR_RETURN(maximum_, FromContents(*plan.contents, level));
    } else {
      std::shared_ptr<Bundle> maximum(new Bundle());
      maximum->owner_ = owner_;
      BERTH_RETURN_IF_ERROR(maximum->Read(plan.stored, level));
      maximum_ = std::move(maximum);
    }
    return CheckMaximum(info_, maximum_->info());
  };
  return Annotate(load(), "the plan of the largest shape");
}

absl::StatusOr<std::shared_ptr<const Bundle>> Bundle::Open(const std::string& path,
                                                           LoadLevel level) {
  BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const FileMapping> mapping, FileMapping::Open(path));
  auto bundle = FromMemory(mapping->bytes(), mapping, path, level);
  if (level == LoadLevel::kTrusted) mapping->ReleasePages();
  return bundle;
}

absl::StatusOr<std::shared_ptr<const Bundle>> Bundle::FromMemory(absl::Span<const std::byte> bytes,
                                                                 std::shared_ptr<const void> owner,
                                                                 std::string_view name,
                                                                 LoadLevel level) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kBundleAlignmentBytes != 0) {
    return InvalidArgument("bundle '{}': its bytes are not aligned to {}", name,
                           kBundleAlignmentBytes);
  }
  std::shared_ptr<Bundle> bundle(new Bundle());
  bundle->owner_ = std::move(owner);
  const auto load = [&]() -> absl::Status {
    BERTH_RETURN_IF_ERROR(bundle->Read(bytes, level));
    return bundle->ReadMaximum(level);
  };
  BERTH_RETURN_IF_ERROR(Annotate(load(), fmt::format("bundle '{}'", name)));
  return bundle;
}

absl::StatusOr<std::shared_ptr<const Bundle>> Bundle::FromContents(BundleContents contents,
                                                                   LoadLevel level) {
  std::shared_ptr<Bundle> bundle(new Bundle());
  bundle->info_ = std::move(contents);
  bundle->program_ = bundle->info_.program.view();
  bundle->conflicts_ = bundle->info_.conflicts.view();
  bundle->constants_ = bundle->info_.constants;
  BERTH_RETURN_IF_ERROR(bundle->Check());
  if (level == LoadLevel::kFull) BERTH_RETURN_IF_ERROR(bundle->Prove());
  BERTH_RETURN_IF_ERROR(bundle->ReadMaximum(level));
  return bundle;
}

}  // namespace berth

#include "tools/inspect_summary.h"

#include <memory>

#include "berth/program.h"
#include "runtime/bundle/sections.h"
#include "tools/report_text.h"

namespace berth {
namespace {

// Commands of each op by kind of engine. The bundle may be unproved: whatever is out of range is
// left out.
struct OpCommands {
  int64_t dma = 0, matrix = 0, vector = 0, host = 0;

  void Count(EngineKind kind) {
    switch (kind) {
      case EngineKind::kDma:
        ++dma;
        break;
      case EngineKind::kMatrix:
        ++matrix;
        break;
      case EngineKind::kVector:
        ++vector;
        break;
      case EngineKind::kHost:
        ++host;
        break;
    }
  }
};

struct Inspection {
  const Bundle& bundle;
  std::unique_ptr<FileMapping> file;
  Sections sections;
  MemoryRequirements memory;
  std::vector<OpCommands> op_commands;   // by op
  std::vector<int64_t> engine_commands;  // by engine

  const BundleContents& info() const { return bundle.info(); }
};

absl::StatusOr<Inspection> Inspect(const std::string& path, const Bundle& bundle) {
  Inspection result{bundle};
  BERTH_ASSIGN_OR_RETURN(result.file, FileMapping::Open(path));
  BERTH_ASSIGN_OR_RETURN(result.sections, ReadSections(result.file->bytes()));
  result.memory = RequirementsOf(bundle);
  const ProgramView& program = bundle.program();
  result.op_commands.resize(result.info().ops.size());
  result.engine_commands.resize(program.engines.size());
  for (const Command& command : program.commands) {
    if (command.engine >= program.engines.size()) continue;
    ++result.engine_commands[command.engine];
    if (command.op >= result.op_commands.size()) continue;
    result.op_commands[command.op].Count(program.engines[command.engine].kind);
  }
  return result;
}

// Free dimensions by their names, or null; null where not even the rank is declared.
nlohmann::ordered_json ShapeJson(const TensorInfo& tensor) {
  if (!tensor.has_free_shape) {
    return std::vector<int64_t>(tensor.type.shape.begin(), tensor.type.shape.end());
  }
  if (!tensor.has_declared_rank) return nullptr;
  nlohmann::ordered_json dims = nlohmann::ordered_json::array();
  for (const Dim& dim : tensor.dims) {
    if (dim.extent >= 0) {
      dims.push_back(dim.extent);
    } else if (dim.symbol.empty()) {
      dims.push_back(nullptr);
    } else {
      dims.push_back(dim.symbol);
    }
  }
  return dims;
}

nlohmann::ordered_json Interface(const std::vector<TensorInfo>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TensorInfo& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", DTypeName(tensor.type.dtype)},
                    {"shape", ShapeJson(tensor)}});
  }
  return list;
}

std::vector<TensorInfo> StateTensors(const BundleContents& info) {
  std::vector<TensorInfo> tensors;
  for (const StateInfo& state : info.states)
    tensors.push_back({state.name, StateType(info, state)});
  return tensors;
}

nlohmann::ordered_json SectionsJson(const Inspection& i) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t s = 0; s < i.sections.bytes.size(); ++s) {
    list.push_back({{"name", SectionName(static_cast<SectionKind>(s))},
                    {"offset_bytes", i.sections.bytes[s].data() - i.file->bytes().data()},
                    {"size_bytes", i.sections.bytes[s].size()}});
  }
  return list;
}

nlohmann::ordered_json PlansJson(const BundleContents& info) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MemoryPlan& plan : info.memories) {
    list.push_back({{"memory", plan.memory},
                    {"height_bytes", plan.height_bytes},
                    {"lower_bound_bytes", plan.lower_bound_bytes},
                    {"capacity_bytes", plan.capacity_bytes},
                    {"buffers", plan.buffer_count},
                    {"status", PlanStatusName(plan.status)}});
  }
  return list;
}

nlohmann::ordered_json OpsJson(const Inspection& i) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t o = 0; o < i.info().ops.size(); ++o) {
    const OpInfo& op = i.info().ops[o];
    const OpCommands& commands = i.op_commands[o];
    list.push_back({{"name", op.name},
                    {"kind", op.kind},
                    {"decision", op.decision},
                    {"macs", op.macs},
                    {"min_dram_bytes", op.min_dram_bytes},
                    {"mapped_cycles", op.mapped_cycles},
                    {"dma_commands", commands.dma},
                    {"matrix_commands", commands.matrix},
                    {"vector_commands", commands.vector},
                    {"host_commands", commands.host}});
  }
  return list;
}

nlohmann::ordered_json EnginesJson(const Inspection& i) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  const ProgramView& program = i.bundle.program();
  for (size_t e = 0; e < program.engines.size(); ++e) {
    object[EngineName(program.engines[e])] = {{"command_count", i.engine_commands[e]}};
  }
  return object;
}

void PrintTensors(std::string_view title, const std::vector<TensorInfo>& tensors) {
  fmt::print("{}\n", title);
  for (size_t t = 0; t < tensors.size(); ++t) {
    fmt::print("  {:>3}  {:<32} {}\n", t, tensors[t].name, DescribeTensor(tensors[t]));
  }
}

void PrintOps(const Inspection& i) {
  fmt::print(
      "Ops, in the order in which they run (commands by engine)\n  {:<32} {:<24} {:>12} {:>6} "
      "{:>6} {:>6} {:>6}  {}\n",
      "name", "kind", "MACs", "DMA", "matrix", "vector", "host", "decision");
  for (size_t o = 0; o < i.info().ops.size(); ++o) {
    const OpInfo& op = i.info().ops[o];
    const OpCommands& commands = i.op_commands[o];
    fmt::print("  {:<32.32} {:<24.24} {:>12} {:>6} {:>6} {:>6} {:>6}  {}\n", op.name, op.kind,
               op.macs, commands.dma, commands.matrix, commands.vector, commands.host, op.decision);
  }
}

}  // namespace

absl::Status AddSummaryJson(const std::string& path, const Bundle& bundle,
                            nlohmann::ordered_json& json) {
  BERTH_ASSIGN_OR_RETURN(const Inspection i, Inspect(path, bundle));
  json["file_bytes"] = i.file->bytes().size();
  json["version"] = fmt::format("{}.{}", i.sections.header.major, i.sections.header.minor);
  json["target_fingerprint"] = fmt::format("{:016x}", i.sections.header.target_fingerprint);
  AddPlanJson(i.info(), json);
  json["memory"] = {{"constants_bytes", i.memory.constants_bytes},
                    {"pool_bytes", i.memory.pool_bytes},
                    {"scratchpad_bytes", i.memory.scratchpad_bytes},
                    {"accumulator_bytes", i.memory.accumulator_bytes},
                    {"state_bytes", i.memory.state_bytes},
                    {"arena_bytes", i.memory.arena_bytes}};
  json["sections"] = SectionsJson(i);
  const CallersInterface interface = InterfaceOf(i.info());
  json["inputs"] = Interface(interface.inputs);
  json["outputs"] = Interface(interface.outputs);
  json["states"] = Interface(StateTensors(i.info()));
  json["plans"] = PlansJson(i.info());
  json["engines"] = EnginesJson(i);
  json["ops"] = OpsJson(i);
  return absl::OkStatus();
}

absl::Status PrintSummary(const std::string& path, const Bundle& bundle) {
  BERTH_ASSIGN_OR_RETURN(const Inspection i, Inspect(path, bundle));
  fmt::print("'{}': bundle {}.{}, {} bytes\n", path, i.sections.header.major,
             i.sections.header.minor, i.file->bytes().size());
  for (size_t s = 0; s < i.sections.bytes.size(); ++s) {
    fmt::print("  {:<20} {:>12} bytes at {:>12}\n", SectionName(static_cast<SectionKind>(s)),
               i.sections.bytes[s].size(), i.sections.bytes[s].data() - i.file->bytes().data());
  }
  fmt::print(
      "Memory: {} bytes of constants for all contexts; for each context an arena of {} bytes "
      "(pool {}, scratchpad {}, accumulators {}, states {})\n",
      i.memory.constants_bytes, i.memory.arena_bytes, i.memory.pool_bytes,
      i.memory.scratchpad_bytes, i.memory.accumulator_bytes, i.memory.state_bytes);
  const CallersInterface interface = InterfaceOf(i.info());
  PrintTensors("Inputs", interface.inputs);
  PrintTensors("Outputs", interface.outputs);
  if (!i.info().states.empty()) {
    PrintTensors("States, kept from run to run", StateTensors(i.info()));
  }
  if (i.info().dynamic) {
    fmt::print("{}", PlanText(i.info()));
    return absl::OkStatus();
  }
  fmt::print("{}  cycles at least {}, DRAM bytes at least {}\nCommands by engine\n",
             PlanText(i.info()), i.info().cycles_lower_bound, i.info().dram_bytes_lower_bound);
  const ProgramView& program = i.bundle.program();
  for (size_t e = 0; e < program.engines.size(); ++e) {
    fmt::print("  {:<8} {:>9}\n", EngineName(program.engines[e]), i.engine_commands[e]);
  }
  PrintOps(i);
  return absl::OkStatus();
}

}  // namespace berth

#include "runtime/dynamic/specialization.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"

namespace berth {
namespace {

template <typename T>
void Append(std::string& key, const T& number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

// The graph with the inputs' types, known inputs as constants. `positions` of those that stay.
Graph Bind(const Graph& whole, absl::Span<const SpecializationInput> inputs,
           std::vector<size_t>& positions) {
  Graph graph = whole;
  graph.states.clear();
  graph.inputs.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& value = graph.at(whole.inputs[i]);
    value.type = inputs[i].type;
    value.shape_known = true;
    if (inputs[i].known == nullptr) {
      positions.push_back(i);
      graph.inputs.push_back(whole.inputs[i]);
      continue;
    }
    auto tensor = std::make_shared<Tensor>(inputs[i].type);
    std::memcpy(tensor->bytes().data(), inputs[i].known, tensor->bytes().size());
    value.constant = std::move(tensor);
  }
  return graph;
}

void Renumber(const std::vector<size_t>& positions, std::vector<ValueSource>& sources) {
  for (ValueSource& source : sources) {
    if (source.kind == ValueSource::Kind::kInput) source.position = positions[source.position];
  }
}

int64_t GraphBytes(const Graph& graph) {
  return static_cast<int64_t>(graph.values.size() * sizeof(Value) +
                              graph.nodes.size() * sizeof(Node));
}

}  // namespace

std::string SpecializationKey(const Graph* graph, absl::Span<const SpecializationInput> inputs) {
  std::string key;
  Append(key, graph);
  for (const SpecializationInput& input : inputs) {
    Append(key, input.type.dtype);
    Append(key, input.type.shape.rank());
    for (const int64_t extent : input.type.shape) Append(key, extent);
    Append(key, input.known != nullptr);
    if (input.known == nullptr) continue;
    key.append(reinterpret_cast<const char*>(input.known),
               static_cast<size_t>(input.type.ByteCount()));
  }
  return key;
}

int64_t ProgramBytes(const Program& program) {
  const ProgramView& view = program.bundle().program();
  const ConflictGraphView& conflicts = program.bundle().conflicts();
  return static_cast<int64_t>(view.commands.size() * sizeof(Command) +
                              view.waits.size() * sizeof(Wait) + view.slots.size() * sizeof(Slot) +
                              program.bundle().constants().size() +
                              (conflicts.predecessor_count.size() +
                               conflicts.successor_begin.size() + conflicts.successors.size()) *
                                  sizeof(uint32_t));
}

absl::StatusOr<std::shared_ptr<Specialization>> Specialization::Make(
    std::shared_ptr<const Graph> graph, absl::Span<const SpecializationInput> inputs,
    const GraphLowering& lower, const LoweringRequest& request) {
  std::vector<size_t> positions;
  Graph bound = Bind(*graph, inputs, positions);
  FoldOptions fold;
  fold.partial = true;
  fold.keep_quantized = true;  // the planner's passes compute on the integers
  // A request decides how large they are: what the machine has no room for is not written out.
  fold.filled_limit_bytes = std::min(fold.filled_limit_bytes, request.config.dram.size_bytes);
  BERTH_RETURN_IF_ERROR(FoldConstants(bound, EvaluateNode, fold));
  std::shared_ptr<Specialization> made(new Specialization());
  made->split_ = SplitKnown(bound);
  GraphSplit& split = made->split_;
  for (size_t& position : split.part_inputs) position = positions[position];
  Renumber(positions, split.outputs);
  Renumber(positions, split.rest_inputs);
  made->size_bytes_ = GraphBytes(*graph) + GraphBytes(split.part) + int64_t{sizeof(Specialization)};
  if (split.rest != nullptr) {
    made->size_bytes_ += GraphBytes(*split.rest) + GraphBytes(*split.after);
  }
  if (!split.part.nodes.empty()) {
    BERTH_ASSIGN_OR_RETURN(BundleContents contents, lower(split.part, request));
    // Whoever lowers verifies the program.
    BERTH_ASSIGN_OR_RETURN(made->program_,
                           Program::FromContents(std::move(contents), LoadLevel::kTrusted));
    made->size_bytes_ += ProgramBytes(*made->program_);
  }
  made->graph_ = std::move(graph);
  return made;
}

std::shared_ptr<Specialization> Specialization::OfProgram(std::shared_ptr<const Graph> graph,
                                                          std::shared_ptr<const Program> program) {
  std::shared_ptr<Specialization> made(new Specialization());
  for (size_t i = 0; i < program->inputs().size(); ++i) made->split_.part_inputs.push_back(i);
  for (size_t i = 0; i < program->outputs().size(); ++i) {
    made->split_.outputs.push_back({ValueSource::Kind::kPart, i, nullptr});
  }
  made->size_bytes_ = int64_t{sizeof(Specialization)};  // the program is the bundle's
  made->graph_ = std::move(graph);
  made->program_ = std::move(program);
  return made;
}

std::shared_ptr<const Program> Specialization::program() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return program_;
}

void Specialization::Replace(std::shared_ptr<const Program> program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  program_ = std::move(program);
  report_.reset();
}

absl::StatusOr<SimReport> Specialization::Report(const std::shared_ptr<const Program>& program) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (report_ && program == program_) return *report_;
  }
  BERTH_ASSIGN_OR_RETURN(SimReport report, program->Simulate());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (program == program_) report_ = report;
  return report;
}

}  // namespace berth

#include "kernels/reference/reference.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {

OpCase::OpCase(OpKind kind, int opset) {
  graph_.name = "test";
  Node node;
  node.kind = kind;
  node.name = "under_test";
  node.opset = opset;
  graph_.nodes.push_back(std::move(node));
  Outputs(1);
}

ValueId OpCase::AddOperand(Tensor tensor, bool known) {
  const std::string name = fmt::format("operand{}", graph_.values.size());
  if (known) return graph_.AddConstant(name, std::move(tensor));
  const ValueId id = graph_.AddValue(name, tensor.type());
  graph_.at(id).shape_known = true;
  graph_.inputs.push_back(id);
  inputs_.push_back(std::move(tensor));
  return id;
}

OpCase& OpCase::Input(Tensor tensor) {
  node().inputs.push_back(AddOperand(std::move(tensor), false));
  return *this;
}

OpCase& OpCase::Constant(Tensor tensor) {
  node().inputs.push_back(AddOperand(std::move(tensor), true));
  return *this;
}

OpCase& OpCase::Absent() {
  node().inputs.push_back(ValueId::kNone);
  return *this;
}

OpCase& OpCase::SameAs(int i) {
  node().inputs.push_back(node().inputs[static_cast<size_t>(i)]);
  return *this;
}

OpCase& OpCase::Attribute(std::string_view name, AttributeValue value) {
  node().attributes.Set(name, std::move(value));
  return *this;
}

OpCase& OpCase::Layout(DataLayout layout) {
  node().layout = layout;
  return *this;
}

OpCase& OpCase::Outputs(int count) {
  while (static_cast<int>(node().outputs.size()) < count) {
    const ValueId id =
        graph_.AddValue(fmt::format("output{}", node().outputs.size()), TensorType{});
    graph_.at(id).shape_known = false;
    node().outputs.push_back(id);
    graph_.outputs.push_back(id);
  }
  return *this;
}

OpCase& OpCase::OmitOutput(int i) {
  ValueId& output = node().outputs[static_cast<size_t>(i)];
  std::erase(graph_.outputs, output);
  output = ValueId::kNone;
  return *this;
}

OpCase& OpCase::Fuse(OpKind kind, Attributes attributes, std::vector<Tensor> operands,
                     int flow_position, bool known, DType result) {
  FusedOp fused;
  fused.kind = kind;
  fused.attributes = std::move(attributes);
  fused.flow_position = flow_position;
  fused.dtype = result;
  fused.name = fmt::format("tail{}", node().tail.size());
  for (Tensor& operand : operands) {
    const bool absent = operand.dtype() == DType::kUndefined;
    fused.operands.push_back(absent ? ValueId::kNone : AddOperand(std::move(operand), known));
  }
  fused.operands.insert(fused.operands.begin() + flow_position, ValueId::kNone);
  node().tail.push_back(std::move(fused));
  return *this;
}

absl::Status OpCase::Infer() {
  std::vector<FusedOp> tail = std::move(node().tail);
  node().tail.clear();
  const auto own = InferNodeTypes(graph_, node());
  if (own.ok()) {
    DType flow = own->empty() ? DType::kUndefined : (*own)[0].dtype;
    for (FusedOp& fused : tail) {
      if (fused.dtype == DType::kUndefined) fused.dtype = flow;
      flow = fused.dtype;
    }
  }
  node().tail = std::move(tail);
  BERTH_RETURN_IF_ERROR(own.status());
  return InferTypes(graph_);
}

std::string OpCase::Describe() const { return DumpGraph(graph_); }

absl::StatusOr<std::vector<Tensor>> RunReference(const OpCase& test) {
  std::vector<ConstTensorView> inputs;
  const Graph& graph = test.graph();
  const auto add = [&](ValueId id) {
    if (id == ValueId::kNone) return inputs.emplace_back();
    if (graph.at(id).constant != nullptr) {
      return inputs.emplace_back(graph.at(id).constant->view());
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (graph.inputs[i] == id) return inputs.emplace_back(test.inputs()[i].view());
    }
    return inputs.emplace_back();
  };
  for (const ValueId id : test.node().inputs) add(id);
  for (const FusedOp& fused : test.node().tail) {
    for (size_t i = 0; i < fused.operands.size(); ++i) {
      if (static_cast<int>(i) != fused.flow_position) add(fused.operands[i]);
    }
  }
  BERTH_ASSIGN_OR_RETURN(std::vector<Tensor> all, EvaluateNode(graph, test.node(), inputs));
  std::vector<Tensor> present;
  for (size_t i = 0; i < all.size(); ++i) {
    if (test.node().outputs[i] != ValueId::kNone) present.push_back(std::move(all[i]));
  }
  return present;
}

::testing::AssertionResult MatchesReference(OpCase& test, const HarnessOptions& options,
                                            HarnessStats* stats) {
  if (absl::Status status = test.Infer(); !status.ok()) {
    return ::testing::AssertionFailure() << "types: " << status;
  }
  const auto expected = RunReference(test);
  if (!expected.ok()) {
    return ::testing::AssertionFailure() << "reference: " << expected.status();
  }
  const auto actual = RunOnMachine(test, options, stats);
  if (!actual.ok()) {
    return ::testing::AssertionFailure() << "machine: " << actual.status() << "\n"
                                         << test.Describe();
  }
  if (actual->size() != expected->size()) {
    return ::testing::AssertionFailure()
           << actual->size() << " outputs, expected " << expected->size();
  }
  for (size_t i = 0; i < actual->size(); ++i) {
    if (auto result = TensorsAgree((*actual)[i], (*expected)[i], options); !result) {
      return result << " (output " << i << ", scratchpad " << options.scratchpad_bytes
                    << (options.strided ? ", strided" : "")
                    << (options.resident ? ", resident" : "") << ")\n"
                    << test.Describe();
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult MatchesEverywhere(OpCase& test, int64_t small_bytes) {
  HarnessOptions large, small, strided, resident;
  large.scratchpad_bytes = 16 << 20;
  large.accumulator_bytes = 4 << 20;
  small.scratchpad_bytes = small_bytes;
  small.accumulator_bytes = small_bytes / 4;
  strided = small;
  strided.strided = true;
  resident = small;
  resident.resident = true;
  HarnessOptions parts = small, resident_parts = resident;
  parts.parts = 3;
  resident_parts.parts = 2;
  for (const HarnessOptions& options : {large, small, strided, resident, parts, resident_parts}) {
    if (auto result = MatchesReference(test, options); !result) return result;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace berth::testing

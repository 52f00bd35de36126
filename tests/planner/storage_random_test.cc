// Random graphs of elementwise ops, joins, slices and reshapes, run twice over symbols instead of
// numbers: each element of a value is a hash of the elements that it is made of. One run keeps
// every value apart, the other follows the storage plan byte by byte; a value destroyed too early
// would show as another hash.
#include <gtest/gtest.h>

#include "planner/storage/storage.h"
#include "planner/storage/views.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Symbols = std::vector<uint64_t>;

uint64_t Mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
  return a * 0xff51afd7ed558ccdu;
}

// Calls visit(flat index, byte offset) for every element in row-major order.
template <typename Visit>
void ForEachElement(const Shape& shape, const Extents& stride_bytes, Visit&& visit) {
  const std::vector<int64_t>& extents = shape.extents();
  std::vector<int64_t> index(extents.size(), 0);
  for (int64_t flat = 0; flat < shape.ElementCount(); ++flat) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < extents.size(); ++axis) offset += index[axis] * stride_bytes[axis];
    visit(static_cast<size_t>(flat), offset);
    for (size_t axis = extents.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : made_(seed) {
    for (const int64_t channels : {4, 8}) {
      values_.push_back(made_.Input(Shape{1, 2, 3, channels}, DType::kInt64));
    }
    for (int64_t i = made_.RandomInt(6, 24); i > 0; --i) AddNode();
    for (int64_t i = made_.RandomInt(1, 2); i > 0; --i) made_.Output(AnyValue());
    made_.Output(values_.back());
    SeparateOutputs(graph());
    SeparateConcatOperands(graph());
  }

  Graph& graph() { return made_.graph; }

 private:
  ValueId AnyValue() {
    const int64_t last = static_cast<int64_t>(values_.size()) - 1;
    return values_[static_cast<size_t>(made_.RandomInt(std::max<int64_t>(0, last - 5), last))];
  }
  int64_t Channels(ValueId value) { return graph().at(value).type.shape[3]; }

  void AddNode() {
    const ValueId a = AnyValue(), b = AnyValue();
    const int64_t channels = Channels(a);
    switch (made_.RandomInt(0, 5)) {
      case 2:
        if (Channels(b) == channels) return Apply(OpKind::kMul, {a, b});
        break;
      case 3:
        if (channels + Channels(b) > 32) break;
        return Apply(OpKind::kConcat, {a, b}, {{"axis", int64_t{3}}});
      case 4: {
        const int64_t begin = made_.RandomInt(0, channels - 1);
        const int64_t end = made_.RandomInt(begin + 1, channels);
        return Apply(OpKind::kSlice, {a, made_.Ints({begin}), made_.Ints({end}), made_.Ints({3})});
      }
      case 5:
        return Apply(OpKind::kReshape, {a, made_.Ints({1, 2, 3, channels})});
    }
    Apply(OpKind::kNeg, {a});
  }

  void Apply(OpKind kind, std::vector<ValueId> inputs,
             std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
    values_.push_back(made_.Apply(kind, std::move(inputs), std::move(attributes)));
  }

  TestGraph made_;
  std::vector<ValueId> values_;
};

// Element `flat` of the node's result from whole operands.
Symbols Compute(const Graph& graph, const Node& node, const std::vector<Symbols>& operands) {
  const Shape& out = graph.at(node.outputs[0]).type.shape;
  Symbols result(static_cast<size_t>(out.ElementCount()));
  if (node.kind == OpKind::kReshape) return operands[0];
  if (node.kind == OpKind::kSlice) {
    const std::optional<SliceWindow> window = ReadSliceWindow(graph, node);
    const int64_t in_channels = graph.at(node.inputs[0]).type.shape[3];
    for (size_t i = 0; i < result.size(); ++i) {
      const int64_t pixel = static_cast<int64_t>(i) / out[3],
                    channel = static_cast<int64_t>(i) % out[3];
      result[i] =
          operands[0][static_cast<size_t>(pixel * in_channels + window->begin[3] + channel)];
    }
    return result;
  }
  if (node.kind == OpKind::kConcat) {
    size_t at = 0;
    for (int64_t pixel = 0; pixel < out[1] * out[2]; ++pixel) {
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const int64_t channels = graph.at(node.inputs[k]).type.shape[3];
        for (int64_t c = 0; c < channels; ++c) {
          result[at++] = operands[k][static_cast<size_t>(pixel * channels + c)];
        }
      }
    }
    return result;
  }
  for (size_t i = 0; i < result.size(); ++i) {
    uint64_t symbol = static_cast<uint64_t>(node.kind);
    for (const Symbols& operand : operands) symbol = Mix(symbol, operand[i]);
    result[i] = symbol;
  }
  return result;
}

size_t OperandCount(const Node& node) {
  return node.kind == OpKind::kReshape || node.kind == OpKind::kSlice ? 1 : node.inputs.size();
}

Symbols InputSymbols(size_t input, const Shape& shape) {
  Symbols symbols(static_cast<size_t>(shape.ElementCount()));
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i] = Mix(input + 1, i);
  return symbols;
}

std::vector<Symbols> RunApart(const Graph& graph) {
  std::vector<Symbols> values(graph.values.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    values[Index(graph.inputs[i])] = InputSymbols(i, graph.at(graph.inputs[i]).type.shape);
  }
  for (const Node& node : graph.nodes) {
    std::vector<Symbols> operands;
    for (size_t k = 0; k < OperandCount(node); ++k)
      operands.push_back(values[Index(node.inputs[k])]);
    values[Index(node.outputs[0])] = Compute(graph, node, operands);
  }
  std::vector<Symbols> outputs;
  for (const ValueId output : graph.outputs) outputs.push_back(values[Index(output)]);
  return outputs;
}

class StoredRun {
 public:
  StoredRun(const Graph& graph, const StoragePlan& plan) : graph_(graph), plan_(plan) {
    for (const StorageBuffer& buffer : plan.buffers) {
      bytes_.emplace_back(static_cast<size_t>(buffer.size_bytes) / 8, 0xdeadu);
    }
  }

  std::vector<Symbols> Run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Shape& shape = graph_.at(graph_.inputs[i]).type.shape;
      Write(graph_.inputs[i], InputSymbols(i, shape));
    }
    for (size_t step = 0; step < graph_.nodes.size(); ++step) {
      if (plan_.nodes[step] == NodeStorage::kView) continue;
      const Node& node = graph_.nodes[step];
      std::vector<Symbols> operands;
      for (size_t k = 0; k < OperandCount(node); ++k) operands.push_back(Read(node.inputs[k]));
      Write(node.outputs[0], Compute(graph_, node, operands));
    }
    std::vector<Symbols> outputs;
    for (const ValueId output : graph_.outputs) outputs.push_back(Read(output));
    return outputs;
  }

 private:
  Symbols Read(ValueId value) {
    const StoragePlace& place = plan_.places[Index(value)];
    Symbols symbols(static_cast<size_t>(graph_.at(value).type.shape.ElementCount()));
    ForEachElement(graph_.at(value).type.shape, place.stride_bytes,
                   [&](size_t flat, int64_t at) { symbols[flat] = Cell(place, at); });
    return symbols;
  }
  void Write(ValueId value, const Symbols& symbols) {
    const StoragePlace& place = plan_.places[Index(value)];
    if (place.buffer < 0) return;  // an input that nobody reads
    ForEachElement(graph_.at(value).type.shape, place.stride_bytes,
                   [&](size_t flat, int64_t at) { Cell(place, at) = symbols[flat]; });
  }
  uint64_t& Cell(const StoragePlace& place, int64_t at) {
    return bytes_[static_cast<size_t>(place.buffer)].at(
        static_cast<size_t>(place.offset_bytes + at) / 8);
  }

  const Graph& graph_;
  const StoragePlan& plan_;
  std::vector<Symbols> bytes_;  // per buffer
};

TEST(AssignStorageRandom, NoValueIsDestroyedBeforeItsLastReader) {
  int in_place = 0, views = 0, parts = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomGraph random(seed);
    Graph& graph = random.graph();
    ASSERT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
    const StoragePlan plan = AssignStorage(graph);
    ASSERT_EQ(StoredRun(graph, plan).Run(), RunApart(graph))
        << DumpGraph(graph) << DumpStorage(graph, plan);
    for (const StorageOrigin& origin : plan.origins) {
      in_place += origin.how == ValueStorage::kInPlace;
      views += origin.how == ValueStorage::kView;
      parts += origin.how == ValueStorage::kPart;
    }
    StorageOptions apart;
    apart.in_place = false;
    EXPECT_LE(PeakLiveBytes(plan), PeakLiveBytes(AssignStorage(graph, apart)));
  }
  EXPECT_GT(in_place, 1000);
  EXPECT_GT(views, 1000);
  EXPECT_GT(parts, 1000);
}

}  // namespace
}  // namespace berth

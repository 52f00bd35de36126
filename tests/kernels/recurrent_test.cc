// RNN, GRU and LSTM on the machine against the plain reference: directions, states, lengths,
// activations, layouts.
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

struct Form {
  OpKind kind;
  int gates;
  int activations;
};
constexpr Form kForms[] = {{OpKind::kRNN, 1, 1}, {OpKind::kGRU, 3, 2}, {OpKind::kLSTM, 4, 3}};

class RandomCase {
 public:
  RandomCase(uint64_t seed, const Form& form)
      : random_(seed), form_(form), test_(form.kind, 14), batch_first_(Flip(0.3)) {
    steps_ = RandomInt(random_, 1, 4);
    batch_ = RandomInt(random_, 1, 3);
    hidden_ = RandomInt(random_, 1, 5);
    constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
    const int64_t direction = RandomInt(random_, 0, 2);
    directions_ = direction == 2 ? 2 : 1;
    test_.Attribute("hidden_size", hidden_)
        .Attribute("direction", std::string(kDirections[direction]));
    if (batch_first_) test_.Attribute("layout", int64_t{1});
    AddOperands();
    AddAttributes();
    test_.Outputs(form.kind == OpKind::kLSTM ? 3 : 2);
  }
  OpCase& test() { return test_; }

 private:
  bool Flip(double probability) { return Chance(random_, probability); }
  Tensor Floats(const Shape& shape) {
    return RandomTensor(random_, DType::kFloat32, shape, -0.8, 0.8);
  }
  void Add(Tensor tensor) {
    Flip(0.5) ? test_.Constant(std::move(tensor)) : test_.Input(std::move(tensor));
  }
  Shape StateShape() const {
    return batch_first_ ? Shape{batch_, directions_, hidden_} : Shape{directions_, batch_, hidden_};
  }

  void AddOperands() {
    const int64_t width = 3, rows = form_.gates * hidden_;
    test_.Input(Floats(batch_first_ ? Shape{batch_, steps_, width} : Shape{steps_, batch_, width}));
    Add(Floats(Shape{directions_, rows, width}));
    Add(Floats(Shape{directions_, rows, hidden_}));
    Flip(0.7) ? Add(Floats(Shape{directions_, 2 * rows})) : void(test_.Absent());
    if (Flip(0.4)) {
      Tensor lengths =
          RandomTensor(random_, DType::kInt32, Shape{batch_}, 0, static_cast<double>(steps_));
      Add(std::move(lengths));
    } else {
      test_.Absent();
    }
    Flip(0.6) ? Add(Floats(StateShape())) : void(test_.Absent());
    if (form_.kind != OpKind::kLSTM) return;
    Flip(0.6) ? Add(Floats(StateShape())) : void(test_.Absent());
    if (Flip(0.5)) Add(Floats(Shape{directions_, 3 * hidden_}));
  }

  void AddAttributes() {
    if (Flip(0.3)) test_.Attribute("clip", 0.4f);
    if (form_.kind == OpKind::kGRU) {
      test_.Attribute("linear_before_reset", RandomInt(random_, 0, 1));
    }
    if (form_.kind == OpKind::kLSTM) test_.Attribute("input_forget", RandomInt(random_, 0, 1));
    if (Flip(0.5)) return;
    constexpr const char* kNames[] = {"Relu",      "Tanh",     "Sigmoid",        "Affine",
                                      "LeakyRelu", "Elu",      "ScaledTanh",     "HardSigmoid",
                                      "Softsign",  "Softplus", "ThresholdedRelu"};
    std::vector<std::string> names;
    for (int64_t i = 0; i < form_.activations * directions_; ++i) {
      names.emplace_back(kNames[RandomInt(random_, 0, std::size(kNames) - 1)]);
    }
    test_.Attribute("activations", names);
    if (Flip(0.5)) {
      test_.Attribute("activation_alpha", std::vector<float>{0.3f, 0.7f})
          .Attribute("activation_beta", std::vector<float>{0.2f});
    }
  }

  Random random_;
  const Form& form_;
  OpCase test_;
  const bool batch_first_;
  int64_t steps_ = 0, batch_ = 0, hidden_ = 0, directions_ = 1;
};

TEST(Recurrent, RandomFormsMatchTheReference) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (const Form& form : kForms) {
      RandomCase random(seed, form);
      ASSERT_TRUE(MatchesReference(random.test())) << OpName(form.kind);
    }
  }
}

TEST(Recurrent, OneOutputOfThree) {
  Random random(2);
  for (int kept = 0; kept < 3; ++kept) {
    OpCase test(OpKind::kLSTM, 14);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{3, 2, 4}))
        .Constant(RandomTensor(random, DType::kFloat32, Shape{1, 12, 4}))
        .Constant(RandomTensor(random, DType::kFloat32, Shape{1, 12, 3}))
        .Outputs(3);
    for (int i = 0; i < 3; ++i) {
      if (i != kept) test.OmitOutput(i);
    }
    EXPECT_TRUE(MatchesReference(test)) << kept;
  }
}

TEST(Recurrent, ContradictionsAreRefused) {
  Random random(3);
  const auto lstm = [&](const Shape& w, const Shape& r) {
    OpCase test(OpKind::kLSTM, 14);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{3, 2, 4}))
        .Input(RandomTensor(random, DType::kFloat32, w))
        .Input(RandomTensor(random, DType::kFloat32, r));
    return test;
  };
  EXPECT_TRUE(lstm({1, 12, 4}, {1, 12, 3}).Infer().ok());
  EXPECT_EQ(lstm({1, 12, 5}, {1, 12, 3}).Infer().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lstm({1, 12, 4}, {2, 12, 3}).Infer().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lstm({1, 12, 4}, {12, 3}).Infer().code(), absl::StatusCode::kInvalidArgument);
  OpCase named = lstm({1, 12, 4}, {1, 12, 3});
  named.Attribute("activations", std::vector<std::string>{"Tanh", "Tanh", "Cosine"});
  EXPECT_EQ(named.Infer().code(), absl::StatusCode::kInvalidArgument);
  OpCase size = lstm({1, 12, 4}, {1, 12, 3});
  size.Attribute("hidden_size", int64_t{4});
  EXPECT_EQ(size.Infer().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::testing

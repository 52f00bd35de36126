#include "tests/fuzz/onnx_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "planner/onnx/onnx_headers.h"

namespace berth {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int64_t kOddNumbers[] = {
    0,         1,        -1, 2,       3,       7,         8,         64,
    255,       256,      -2, 1 << 16, 1 << 30, INT32_MAX, INT32_MIN, int64_t{1} << 32,
    INT64_MAX, INT64_MIN};

class ModelMutator {
 public:
  ModelMutator(onnx::ModelProto& model, unsigned int seed) : random_(seed) { Collect(model); }

  void Change() {
    Message& message = *messages_[Below(messages_.size())];
    const FieldDescriptor* field = AnyField(message);
    if (field == nullptr) return;
    if (field->is_repeated()) {
      ChangeList(message, *field);
    } else {
      ChangeField(message, *field);
    }
  }

 private:
  size_t Below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

  void Collect(Message& message) {
    messages_.push_back(&message);
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated()) {
        names_.push_back(reflection.GetString(message, field));
      }
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        Collect(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Collect(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }

  // One that is set, or now and then any.
  const FieldDescriptor* AnyField(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    if (!fields.empty() && Below(8) != 0) return fields[Below(fields.size())];
    const auto count = static_cast<size_t>(message.GetDescriptor()->field_count());
    return count == 0 ? nullptr : message.GetDescriptor()->field(static_cast<int>(Below(count)));
  }

  void ChangeList(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const auto any = [&] { return static_cast<int>(Below(static_cast<size_t>(size))); };
    switch (size == 0 ? 3 : Below(5)) {
      case 0:
        reflection.RemoveLast(&message, &field);
        return;
      case 1:
        reflection.SwapElements(&message, &field, any(), any());
        return;
      case 2:
        reflection.SwapElements(&message, &field, any(), size - 1);
        reflection.RemoveLast(&message, &field);
        return;
      case 3:
        Append(message, field, size == 0 ? -1 : any());
        return;
      default:
        ChangeElement(message, field, any());
    }
  }

  // A copy of element `like`, or a new one.
  void Append(Message& message, const FieldDescriptor& field, int like) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message* added = r.AddMessage(&message, &field);
        if (like >= 0) added->CopyFrom(r.GetRepeatedMessage(message, &field, like));
        return;
      }
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(&message, &field, OddNumber());
      case FieldDescriptor::CPPTYPE_INT32:
        return r.AddInt32(&message, &field, static_cast<int32_t>(OddNumber()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.AddUInt64(&message, &field, static_cast<uint64_t>(OddNumber()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.AddFloat(&message, &field, OddFloat());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.AddDouble(&message, &field, OddFloat());
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(&message, &field, AnyName());
      default:
        return;
    }
  }

  void ChangeElement(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetRepeatedInt64(&message, &field, i, OddNumber());
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetRepeatedInt32(&message, &field, i, static_cast<int32_t>(OddNumber()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetRepeatedFloat(&message, &field, i, OddFloat());
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetRepeatedString(&message, &field, i, AnyName());
      default:
        return;
    }
  }

  void ChangeField(Message& message, const FieldDescriptor& field) {
    const Reflection& r = *message.GetReflection();
    if (Below(6) == 0) return r.ClearField(&message, &field);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(&message, &field, OddNumber());
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetInt32(&message, &field, static_cast<int32_t>(OddNumber()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(&message, &field, OddFloat());
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(&message, &field, static_cast<int>(Below(24)));
      case FieldDescriptor::CPPTYPE_STRING:
        return ChangeString(message, field);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.MutableMessage(&message, &field);
        return;
      default:
        return;
    }
  }

  void ChangeString(Message& message, const FieldDescriptor& field) {
    const Reflection& r = *message.GetReflection();
    std::string text = r.GetString(message, &field);
    if (Below(2) == 0 || text.empty()) return r.SetString(&message, &field, AnyName());
    if (Below(4) == 0) text.resize(Below(text.size() + 8));
    if (!text.empty()) text[Below(text.size())] = static_cast<char>(Below(256));
    r.SetString(&message, &field, text);
  }

  int64_t OddNumber() {
    if (Below(4) == 0) return static_cast<int64_t>(Below(20)) - 4;
    return kOddNumbers[Below(std::size(kOddNumbers))];
  }
  float OddFloat() {
    constexpr float kOdd[] = {0.0f,
                              -0.0f,
                              1.0f,
                              -1.0f,
                              1e30f,
                              1e-40f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
    return kOdd[Below(std::size(kOdd))];
  }
  std::string AnyName() { return names_.empty() ? "" : names_[Below(names_.size())]; }

  std::mt19937 random_;
  std::vector<Message*> messages_;
  std::vector<std::string> names_;
};

}  // namespace

size_t MutateModel(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  onnx::ModelProto model;
  if (!model.ParsePartialFromArray(data, static_cast<int>(size))) return 0;
  const unsigned int changes = 1 + seed % 3;
  for (unsigned int i = 0; i < changes; ++i) ModelMutator(model, seed + i).Change();
  const size_t new_size = model.ByteSizeLong();
  if (new_size > max_size) return 0;
  model.SerializePartialToArray(data, static_cast<int>(new_size));
  return new_size;
}

}  // namespace berth

#include "kernels/graph.h"

namespace berth {
namespace {

// The attribute's value when it is present and of type T, else null.
template <typename T>
const T* Find(const std::map<std::string, AttributeValue, std::less<>>& values,
              std::string_view name) {
  const auto it = values.find(name);
  return it == values.end() ? nullptr : std::get_if<T>(&it->second);
}

}  // namespace

void Attributes::Erase(std::string_view name) {
  if (const auto it = values_.find(name); it != values_.end()) values_.erase(it);
}

int64_t Attributes::Int(std::string_view name, int64_t otherwise) const {
  const auto* value = Find<int64_t>(values_, name);
  return value ? *value : otherwise;
}

float Attributes::Float(std::string_view name, float otherwise) const {
  const auto* value = Find<float>(values_, name);
  return value ? *value : otherwise;
}

std::string Attributes::String(std::string_view name, std::string_view otherwise) const {
  const auto* value = Find<std::string>(values_, name);
  return value ? *value : std::string(otherwise);
}

std::vector<int64_t> Attributes::Ints(std::string_view name) const {
  const auto* value = Find<std::vector<int64_t>>(values_, name);
  return value ? *value : std::vector<int64_t>();
}

std::vector<float> Attributes::Floats(std::string_view name) const {
  const auto* value = Find<std::vector<float>>(values_, name);
  return value ? *value : std::vector<float>();
}

const Tensor* Attributes::TensorOrNull(std::string_view name) const {
  const auto* value = Find<std::shared_ptr<const Tensor>>(values_, name);
  return value ? value->get() : nullptr;
}

}  // namespace berth

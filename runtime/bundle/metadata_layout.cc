#include "runtime/bundle/metadata_layout.h"

#include "bundle_generated.h"

namespace berth {
namespace {

// Sums the bytes of strings and vectors, each as often as it is named, and looks where their
// elements begin.
class Walk {
 public:
  void Add(const flatbuffers::String* text) {
    if (text != nullptr) bytes_ += text->size();
  }
  template <typename Number>
  void Add(const flatbuffers::Vector<Number>* numbers) {
    if (numbers != nullptr) AddElements<Number>(numbers->Data(), numbers->size());
  }
  template <typename Struct>
  void Add(const flatbuffers::Vector<const Struct*>* structs) {
    if (structs != nullptr) AddElements<Struct>(structs->Data(), structs->size());
  }
  template <typename T>
  void Add(const flatbuffers::Vector<flatbuffers::Offset<T>>* list) {
    if (list == nullptr) return;
    bytes_ += uint64_t{list->size()} * sizeof(flatbuffers::uoffset_t);
    for (const T* entry : *list) Add(entry);
  }

  void Add(const fb::TensorInfo* info) {
    Add(info->name());
    Add(info->extents());
  }
  void Add(const fb::OpInfo* op) {
    Add(op->name());
    Add(op->kind());
    Add(op->decision());
  }
  void Add(const fb::ValueInfo* value) {
    Add(value->name());
    Add(value->extents());
    Add(value->note());
  }
  void Add(const fb::SegmentInfo* segment) { Add(segment->others()); }
  void Add(const fb::MemoryPlan* plan) { Add(plan->memory()); }
  void Add(const fb::StateInfo* state) {
    Add(state->name());
    Add(state->initial());
  }
  void Add(const fb::Dim* dim) { Add(dim->symbol()); }
  void Add(const fb::GraphTensor* tensor) {
    if (tensor != nullptr) Add(tensor->extents());
  }
  void Add(const fb::GraphValue* value) {
    Add(value->name());
    Add(value->extents());
    Add(value->declared());
    Add(value->constant());
  }
  void Add(const fb::GraphAttribute* attribute) {
    Add(attribute->name());
    Add(attribute->ints());
    Add(attribute->floats());
    Add(attribute->strings());
    Add(attribute->tensor());
    if (attribute->graph() != nullptr) Add(attribute->graph());
  }
  void Add(const fb::GraphNode* node) {
    Add(node->op());
    Add(node->name());
    Add(node->attributes());
    Add(node->inputs());
    Add(node->outputs());
  }
  void Add(const fb::GraphState* state) {
    Add(state->name());
    Add(state->initial());
  }
  void Add(const fb::Graph* graph) {
    Add(graph->name());
    Add(graph->values());
    Add(graph->nodes());
    Add(graph->inputs());
    Add(graph->outputs());
    Add(graph->states());
  }
  void Add(const fb::DimRange* range) { Add(range->name()); }
  void Add(const fb::OutputExtents* output) { Add(output->dims()); }
  void Add(const fb::DynamicModel* model) {
    Add(model->graph());
    Add(model->ranges());
    if (model->maximum() != nullptr) Add(model->maximum()->refusal());
    Add(model->outputs());
  }
  void Add(const fb::Metadata* metadata) {
    Add(metadata->model_name());
    Add(metadata->config_json());
    Add(metadata->inputs());
    Add(metadata->outputs());
    Add(metadata->ops());
    Add(metadata->buffer_names());
    Add(metadata->engines());
    Add(metadata->regions());
    Add(metadata->memories());
    Add(metadata->values());
    Add(metadata->states());
    Add(metadata->segments());
    Add(metadata->trials());
    if (metadata->dynamic() != nullptr) Add(metadata->dynamic());
  }

  uint64_t bytes() const { return bytes_; }
  bool is_aligned() const { return is_aligned_; }

 private:
  template <typename Element>
  void AddElements(const uint8_t* first, uint64_t count) {
    bytes_ += count * sizeof(Element);
    if (count > 0 && reinterpret_cast<uintptr_t>(first) % alignof(Element) != 0) {
      is_aligned_ = false;
    }
  }

  uint64_t bytes_ = 0;
  bool is_aligned_ = true;
};

}  // namespace

absl::Status CheckMetadataLayout(const fb::Metadata& metadata, uint64_t buffer_bytes) {
  Walk walk;
  walk.Add(&metadata);
  if (!walk.is_aligned()) {
    return DataLoss("section 0 (metadata): a list of numbers begins where numbers cannot");
  }
  if (walk.bytes() <= buffer_bytes) return absl::OkStatus();
  return DataLoss(
      "section 0 (metadata): strings and lists of {} bytes in a buffer of {}: it names the same "
      "bytes again and again",
      walk.bytes(), buffer_bytes);
}

}  // namespace berth

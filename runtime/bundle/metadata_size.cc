#include "runtime/bundle/metadata_size.h"

#include "bundle_generated.h"

namespace berth {
namespace {

// Sums the bytes of strings and vectors, each as often as it is named.
class Sum {
 public:
  void Add(const flatbuffers::String* text) {
    if (text != nullptr) bytes_ += text->size();
  }
  // Of plain numbers and structs.
  template <typename T>
  void Add(const flatbuffers::Vector<T>* vector) {
    if (vector != nullptr) bytes_ += uint64_t{vector->size()} * sizeof(T);
  }
  void Add(const flatbuffers::Vector<const fb::ScheduleTrial*>* trials) {
    if (trials != nullptr) bytes_ += uint64_t{trials->size()} * sizeof(fb::ScheduleTrial);
  }
  void Add(const flatbuffers::Vector<const fb::SegmentWay*>* ways) {
    if (ways != nullptr) bytes_ += uint64_t{ways->size()} * sizeof(fb::SegmentWay);
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
  void Add(const fb::Engine*) {}
  void Add(const fb::Region*) {}
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

 private:
  uint64_t bytes_ = 0;
};

}  // namespace

absl::Status CheckMetadataSize(const fb::Metadata& metadata, uint64_t buffer_bytes) {
  Sum sum;
  sum.Add(&metadata);
  if (sum.bytes() <= buffer_bytes) return absl::OkStatus();
  return DataLoss(
      "section 0 (metadata): strings and lists of {} bytes in a buffer of {}: it names the same "
      "bytes again and again",
      sum.bytes(), buffer_bytes);
}

}  // namespace berth

// The functions of the C API that take or give DLPack tensors.
#include "runtime/c_api/dlpack_tensor.h"
#include "runtime/c_api/run.h"

namespace berth::c_api {
namespace {

struct DlpackTensors {
  std::vector<DlpackTensor> tensors;
  std::vector<berth_tensor> views;
};

absl::StatusOr<DlpackTensors> ReadAll(struct DLManagedTensor* const* given, size_t count,
                                      size_t expected, const char* role) {
  if (count != expected) {
    return InvalidArgument("{} {}s given, {} expected", count, role, expected);
  }
  if (count > 0 && given == nullptr) return InvalidArgument("{}s is null", role);
  DlpackTensors result;
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<DlpackTensor> tensor =
        DlpackTensor::Read(given[i], std::string_view(role) == "output");
    if (!tensor.ok()) return Annotate(tensor.status(), fmt::format("{} {}", role, i));
    result.tensors.push_back(*std::move(tensor));
    result.views.push_back(result.tensors.back().view());
  }
  return result;
}

}  // namespace
}  // namespace berth::c_api

extern "C" {

berth_status berth_context_run_dlpack(berth_context* context, struct DLManagedTensor* const* inputs,
                                      size_t input_count, struct DLManagedTensor* const* outputs,
                                      size_t output_count, const berth_run_options* options,
                                      berth_report** report) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(context);
    BERTH_ASSIGN_OR_RETURN(const berth_run_options read,
                           berth::c_api::ReadOptions(options, "options"));
    const berth::c_api::Turn turn(*context);
    BERTH_RETURN_IF_ERROR(turn.status());
    BERTH_ASSIGN_OR_RETURN(
        berth::c_api::DlpackTensors from,
        berth::c_api::ReadAll(inputs, input_count, context->program->inputs.size(), "input"));
    BERTH_ASSIGN_OR_RETURN(
        const berth::c_api::DlpackTensors to,
        berth::c_api::ReadAll(outputs, output_count, context->program->outputs.size(), "output"));
    BERTH_RETURN_IF_ERROR(berth::c_api::ReadInputs(*context, from.views.data(), from.views.size()));
    BERTH_RETURN_IF_ERROR(berth::c_api::ReadOutputs(*context, to.views.data(), to.views.size()));
    for (berth::c_api::DlpackTensor& tensor : from.tensors) tensor.CopyIn();
    BERTH_RETURN_IF_ERROR(berth::c_api::RunViews(*context, read, nullptr, report));
    for (const berth::c_api::DlpackTensor& tensor : to.tensors) tensor.CopyOut();
    return absl::OkStatus();
  });
}

berth_status berth_tensor_list_to_dlpack(const berth_tensor_list* list, size_t position,
                                         struct DLManagedTensor** tensor) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(list);
    BERTH_REQUIRE(tensor);
    if (position >= list->tensors->size()) {
      return berth::InvalidArgument("tensor {} of {}", position, list->tensors->size());
    }
    *tensor = berth::c_api::MakeDlpack(list->tensors, (*list->tensors)[position].view());
    return absl::OkStatus();
  });
}

}  // extern "C"

// The runs of a context, whatever the tensors come from.
#pragma once

#include "runtime/c_api/api.h"

namespace berth::c_api {

// A context serves one caller at a time: FailedPrecondition for a second one.
class Turn {
 public:
  explicit Turn(berth_context& context)
      : context_(context), is_mine_(!context.is_busy.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (is_mine_) End(context_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  absl::Status status() const;
  // The caller stays until End: a run in the background goes on.
  void Leave() { is_mine_ = false; }
  static void End(berth_context& context) {
    context.is_busy.store(false, std::memory_order_release);
  }

 private:
  berth_context& context_;
  bool is_mine_;
};

// The caller's tensors into the context's views, as they are or not at all.
absl::Status ReadInputs(berth_context& context, const berth_tensor* inputs, size_t count);
absl::Status ReadOutputs(berth_context& context, const berth_tensor* outputs, size_t count);

// Whether a run needs neither inputs nor outputs, and got none.
bool NeedsNoTensors(const berth_context& context, const berth_run_options& options,
                    size_t tensor_count);

absl::StatusOr<RunOptions> ToRunOptions(const berth_run_options& options);

// Runs with the context's views, or into `made` where that is not null; fills `report` (may be
// null) with a new one, or with null after a run for values.
absl::Status RunViews(berth_context& context, const berth_run_options& options,
                      std::vector<Tensor>* made, berth_report** report);

}  // namespace berth::c_api

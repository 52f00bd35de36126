#include "runtime/run_gate.h"

namespace berth {

bool RunGate::Enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_running_ || is_closed_) return false;
  is_running_ = true;
  return true;
}

void RunGate::Leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_running_ = false;
  if (is_closed_) changed_.notify_all();
}

void RunGate::LeaveInto(Callback& callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_running_ = false;
  callback.next = callbacks_;
  callbacks_ = &callback;
}

void RunGate::End(Callback& callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Callback** link = &callbacks_;
  while (*link != &callback) link = &(*link)->next;
  *link = callback.next;
  changed_.notify_all();
}

void RunGate::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
}

bool RunGate::IsQuiet() const {
  if (is_running_) return false;
  for (const Callback* callback = callbacks_; callback != nullptr; callback = callback->next) {
    if (callback->thread != std::this_thread::get_id()) return false;
  }
  return true;
}

void RunGate::AwaitEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return IsQuiet(); });
}

}  // namespace berth

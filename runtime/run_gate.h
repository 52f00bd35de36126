// One run at a time in a context, and who waits for its end. Kept alive by the tasks that use it,
// so that a callback may destroy the context whose run it tells of.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace berth {

class RunGate {
 public:
  // A callback that is being called; on the stack of its thread.
  struct Callback {
    Callback* next = nullptr;
    std::thread::id thread = std::this_thread::get_id();
  };

  // False while a run is in progress, and once the gate is closed.
  bool Enter();
  void Leave();
  // The run is over, and a callback about to begin: the next run may begin inside it.
  void LeaveInto(Callback& callback);
  void End(Callback& callback);
  // Lets nobody in any more.
  void Close();
  // Until there is no run and no callback but those on the calling thread.
  void AwaitEnd();

 private:
  bool IsQuiet() const;  // with mutex_ held

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_running_ = false;
  bool is_closed_ = false;
  Callback* callbacks_ = nullptr;
};

}  // namespace berth

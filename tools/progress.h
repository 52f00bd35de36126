// Progress of work that takes longer than two seconds, for a person at a terminal: one line on
// stderr, rewritten in place and wiped at the end. Nothing where stderr is not a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace berth {

class Progress {
 public:
  // "planning 'model.onnx'": seconds are added.
  explicit Progress(std::string what);
  ~Progress() { Stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether anybody can see it.
  bool is_on() const { return thread_.joinable(); }
  void Say(std::string what);
  // Wipes the line before something else is printed; it comes back with the next step.
  void Wipe();
  // Wipes the line for good.
  void Stop();

 private:
  void Show();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool is_shown_ = false, stopped_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace berth

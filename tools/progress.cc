#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace berth {
namespace {

constexpr std::chrono::milliseconds kSilence{2000};
constexpr std::chrono::milliseconds kStep{250};

void Print(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 0) return;
  thread_ = std::thread([this] { Show(); });
}

void Progress::Say(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::Wipe() {
  const std::lock_guard lock(mutex_);
  if (is_shown_) Print("");
}

void Progress::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::Show() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto is_stopped = [this] { return stopped_; };
  if (changed_.wait_for(lock, kSilence, is_stopped)) return;
  is_shown_ = true;
  do {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    Print(fmt::format("{} ... {:.0f} s", what_, elapsed.count()));
  } while (!changed_.wait_for(lock, kStep, is_stopped));
  Print("");
}

}  // namespace berth

// Windows in flight: submitted and not yet complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "core/device.h"

namespace metalbench {

// The work to time. Starts windows of passes, with a limit of passes for each command buffer.
struct WindowSource {
  // See RunOptions. May be empty.
  std::function<std::unique_ptr<RunningWindow>(std::uint32_t passes,
                                               std::uint32_t per_command_buffer)>
      submit;
  bool queued = false;  // whether windows may be started while others run
  std::uint32_t passes_per_command_buffer = 0;

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(submit); }
  [[nodiscard]] std::unique_ptr<RunningWindow> start(std::uint32_t passes) const {
    return submit(passes, passes_per_command_buffer);
  }
};

// Queue of several windows in flight, completed in the order of their start. An idle GPU lowers its
// clock, so the next window must always be queued.
class WindowQueue {
 public:
  using OnComplete = std::function<void(const Timing&)>;

  void start(const WindowSource& source, std::uint32_t passes, OnComplete on_complete) {
    if (!source.queued) complete_all();
    while (windows_.size() >= most) complete_first();
    windows_.push_back({source.start(passes), std::move(on_complete)});
    if (!source.queued) complete_all();
  }

  void complete_all() {
    while (!windows_.empty()) complete_first();
  }

 private:
  static constexpr std::size_t most = 3;

  struct QueuedWindow {
    std::unique_ptr<RunningWindow> running;
    OnComplete on_complete;
  };

  void complete_first() {
    const QueuedWindow first = std::move(windows_.front());
    windows_.pop_front();
    first.on_complete(first.running->wait());
  }

  std::deque<QueuedWindow> windows_;
};

}  // namespace metalbench

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
struct Source {
  // See RunOptions. May be empty.
  std::function<std::unique_ptr<Running>(std::uint32_t passes, std::uint32_t per_command_buffer)>
      hand_over;
  bool queued = false;  // whether windows may be started while others run
  std::uint32_t passes_per_command_buffer = 0;

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(hand_over); }
  [[nodiscard]] std::unique_ptr<Running> start(std::uint32_t passes) const {
    return hand_over(passes, passes_per_command_buffer);
  }
};

// Queue of several windows in flight, completed in the order of their start. An idle GPU lowers its
// clock, so the next window must always be queued.
class Flight {
 public:
  using Landed = std::function<void(const Timing&)>;

  void start(const Source& source, std::uint32_t passes, Landed landed) {
    if (!source.queued) land_all();
    while (windows_.size() >= most) land();
    windows_.push_back({source.start(passes), std::move(landed)});
    if (!source.queued) land_all();
  }

  void land_all() {
    while (!windows_.empty()) land();
  }

 private:
  static constexpr std::size_t most = 3;

  struct Window {
    std::unique_ptr<Running> running;
    Landed landed;
  };

  void land() {
    const Window first = std::move(windows_.front());
    windows_.pop_front();
    first.landed(first.running->wait());
  }

  std::deque<Window> windows_;
};

}  // namespace metalbench

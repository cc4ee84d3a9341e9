// Windows on their way to a device and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "core/device.h"

namespace metalbench {

// What is timed. Hands over windows of passes, with a limit of passes for each command buffer.
struct Source {
  // As RunOptions has them. May be empty.
  std::function<std::unique_ptr<Running>(std::uint32_t passes, std::uint32_t per_command_buffer)>
      hand_over;
  bool queued = false;  // whether a window may be started while others still run
  std::uint32_t passes_per_command_buffer = 0;

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(hand_over); }
  [[nodiscard]] std::unique_ptr<Running> start(std::uint32_t passes) const {
    return hand_over(passes, passes_per_command_buffer);
  }
};

// Keeps some windows on their way, so that a GPU, whose clock drops when it has nothing to do,
// always has the next one; they land in the order in which they were started.
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

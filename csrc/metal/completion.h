// Completion state of one or more command buffers. It outlives the threads that wait for it.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "metal/busy.h"
#include "metal/counters.h"

namespace metalbench::metal {

using Clock = std::chrono::steady_clock;

// Return the GPU's start and end time of a completed command buffer.
[[nodiscard]] Span span_of(id<MTLCommandBuffer> buffer);
[[nodiscard]] Span span_of(CFTimeInterval start, CFTimeInterval end);

// Written by the completion handlers of command buffers, on a thread of Metal's.
class Completion {
 public:
  // `buffers`: number of command buffers, which complete in order.
  explicit Completion(std::size_t buffers = 1) : pending_(buffers) {}

  // Add a completion handler; call before the commit. The handler shares ownership, so it never
  // accesses a destroyed object.
  static void attach(const std::shared_ptr<Completion>& completion, id<MTLCommandBuffer> buffer);

  // Note the end of a command buffer.
  void take(MTLCommandBufferStatus ended, NSError* why, Span span);

  // Remove command buffers that will not be committed.
  void leave_out(std::size_t buffers);

  // Wait until the deadline; return whether all have completed.
  [[nodiscard]] bool wait_until(Clock::time_point deadline);
  [[nodiscard]] bool ended() { return wait_until({}); }

  // Return the encoder's counter samples after completion; valid once.
  [[nodiscard]] std::optional<CounterSpan> counter_span();

  // Valid after completion: status of the first failed buffer, or else of the last.
  MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
  NSError* error = nil;
  std::vector<Span> spans;     // one for each buffer, on the GPU's clock
  Clock::time_point ended_at;  // time when the host was notified

  // Valid before the commit.
  id<MTLCounterSampleBuffer> samples = nil;
  Clock::time_point latest_end;  // deadline if all earlier windows use their whole time

  // Memory that an abandoned window may still write to. Gpu releases it instead of Metal's thread,
  // because Python arrays need the GIL for their release.
  std::shared_ptr<void> kept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pending_;
  bool resolved_ = false;
  std::optional<CounterSpan> span_;
};

}  // namespace metalbench::metal

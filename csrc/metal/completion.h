// How a command buffer ended; outlives whoever waits for it.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace metalbench::metal {

using Clock = std::chrono::steady_clock;

// Filled in by the command buffer's completion handler, on a thread of Metal's.
class Completion {
 public:
  // Sees to it that this learns of the end; before the commit. The handler owns a share of
  // `completion`, so that it never meets a destroyed one.
  static void attach(const std::shared_ptr<Completion>& completion, id<MTLCommandBuffer> buffer);

  // Whether it has ended by then.
  [[nodiscard]] bool wait_until(Clock::time_point deadline);
  [[nodiscard]] bool ended() { return wait_until({}); }

  // To be read once it has ended.
  MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
  NSError* error = nil;
  double gpu_start_ns = 0;
  double gpu_end_ns = 0;
  Clock::time_point ended_at;  // when the host came to know
  // The last sample of its counters, which the window after it may start from; 0 without.
  std::uint64_t counter_end = 0;

  // What an abandoned window may still write to. Let go by Gpu rather than by Metal's thread,
  // because memory of Python's needs the GIL for that.
  std::shared_ptr<void> kept;

 private:
  void take(id<MTLCommandBuffer> buffer);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

}  // namespace metalbench::metal

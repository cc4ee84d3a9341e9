// How a command buffer ended; outlives whoever waits for it.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "metal/counters.h"

namespace metalbench::metal {

using Clock = std::chrono::steady_clock;

// Filled in by the command buffer's completion handler, on a thread of Metal's.
class Completion {
 public:
  // Sees to it that `completion` learns of the end; to be called before the commit. The handler
  // owns a share, so that it never meets a destroyed one.
  static void attach(const std::shared_ptr<Completion>& completion, id<MTLCommandBuffer> buffer);

  // Whether it has ended by then.
  [[nodiscard]] bool wait_until(Clock::time_point deadline);
  [[nodiscard]] bool ended() { return wait_until({}); }

  // What the encoder's counters say, once it has ended; read only once.
  [[nodiscard]] std::optional<CounterSpan> counter_span();

  // Known once it has ended.
  MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
  NSError* error = nil;
  double gpu_start_ns = 0;
  double gpu_end_ns = 0;
  Clock::time_point ended_at;  // when the host came to know

  // Known before the commit.
  id<MTLCounterSampleBuffer> samples = nil;
  Clock::time_point latest_end;  // when its time is up, even if all before it take all of theirs

  // What an abandoned window may still write to. Gpu lets go of it rather than Metal's thread,
  // because an array of Python's needs the GIL for that.
  std::shared_ptr<void> kept;

 private:
  void take(id<MTLCommandBuffer> buffer);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool resolved_ = false;
  std::optional<CounterSpan> span_;
};

}  // namespace metalbench::metal

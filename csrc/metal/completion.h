// How one command buffer or several ended; outlives whoever waits for it.
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

// When the GPU worked on a command buffer that has ended.
[[nodiscard]] Span span_of(id<MTLCommandBuffer> buffer);

// Filled in by command buffers' completion handlers, on a thread of Metal's.
class Completion {
 public:
  // Of so many command buffers, which end in order.
  explicit Completion(std::size_t buffers = 1) : pending_(buffers) {}

  // Sees to it that `completion` learns of the end; to be called before the commit. The handler
  // owns a share, so that it never meets a destroyed one.
  static void attach(const std::shared_ptr<Completion>& completion, id<MTLCommandBuffer> buffer);

  // So many are never committed.
  void leave_out(std::size_t buffers);

  // Whether all have ended by then.
  [[nodiscard]] bool wait_until(Clock::time_point deadline);
  [[nodiscard]] bool ended() { return wait_until({}); }

  // What the encoder's counters say, once it has ended; read only once.
  [[nodiscard]] std::optional<CounterSpan> counter_span();

  // Known once all have ended: of the first that failed, or of the last.
  MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
  NSError* error = nil;
  std::vector<Span> spans;     // on the GPU's clock, one for each
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
  std::size_t pending_;
  bool resolved_ = false;
  std::optional<CounterSpan> span_;
};

}  // namespace metalbench::metal

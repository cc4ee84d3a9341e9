#include "metal/completion.h"

namespace metalbench::metal {

Span span_of(CFTimeInterval start, CFTimeInterval end) {
  constexpr double ns_per_s = 1e9;
  return {start * ns_per_s, end * ns_per_s};
}

Span span_of(id<MTLCommandBuffer> buffer) {
  return span_of(buffer.GPUStartTime, buffer.GPUEndTime);
}

void Completion::attach(const std::shared_ptr<Completion>& completion,
                        id<MTLCommandBuffer> buffer) {
  const std::shared_ptr<Completion> share = completion;
  [buffer addCompletedHandler:^(id<MTLCommandBuffer> ended) {
    share->take(ended.status, ended.error, span_of(ended));
  }];
}

void Completion::take(MTLCommandBufferStatus ended, NSError* why, Span span) {
  {
    const std::lock_guard lock(mutex_);
    ended_at = Clock::now();
    if (status != MTLCommandBufferStatusError) {
      status = ended;
      error = why;
    }
    spans.push_back(span);
    --pending_;
  }
  changed_.notify_all();
}

void Completion::leave_out(std::size_t buffers) {
  {
    const std::lock_guard lock(mutex_);
    pending_ -= buffers;
  }
  changed_.notify_all();
}

bool Completion::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (pending_ == 0) return true;
  if (deadline == Clock::time_point()) return false;
  return changed_.wait_until(lock, deadline, [this] { return pending_ == 0; });
}

std::optional<CounterSpan> Completion::counter_span() {
  const std::lock_guard lock(mutex_);
  if (!resolved_ && samples != nil) span_ = resolve(samples);
  resolved_ = true;
  return span_;
}

}  // namespace metalbench::metal

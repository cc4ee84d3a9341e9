// GPU timestamps at the boundaries of compute encoders.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace metalbench::metal {

class Counters {
 public:
  Counters(id<MTLDevice> device, bool supported);

  // Take a buffer for the two samples of one window; nil without counters.
  [[nodiscard]] id<MTLCounterSampleBuffer> take();
  // Return the buffer after the window has ended.
  void give_back(id<MTLCounterSampleBuffer> samples);

  [[nodiscard]] double ns_per_tick();

 private:
  struct Moment {
    MTLTimestamp cpu_ns = 0;
    MTLTimestamp gpu = 0;
  };
  [[nodiscard]] Moment now() const;

  id<MTLDevice> device_;
  id<MTLCounterSet> timestamps_;  // nil without counters
  std::mutex mutex_;              // guards the following members
  std::vector<id<MTLCounterSampleBuffer>> free_;
  Moment opened_;
  std::optional<double> ns_per_tick_;
};

struct CounterSpan {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// Return nothing for zeros, error values and reversed pairs.
[[nodiscard]] std::optional<CounterSpan> resolve(id<MTLCounterSampleBuffer> samples);

}  // namespace metalbench::metal

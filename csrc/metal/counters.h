// Time stamps that the GPU takes where a compute encoder begins and ends.
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

  // Room for the two samples of one window; nil where there are no counters.
  [[nodiscard]] id<MTLCounterSampleBuffer> take();
  // Only once that window has ended.
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
  std::mutex mutex_;              // of what follows
  std::vector<id<MTLCounterSampleBuffer>> free_;
  Moment opened_;
  std::optional<double> ns_per_tick_;
};

struct CounterSpan {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// Nothing for zeros, error values and reversed pairs.
[[nodiscard]] std::optional<CounterSpan> resolve(id<MTLCounterSampleBuffer> samples);

}  // namespace metalbench::metal

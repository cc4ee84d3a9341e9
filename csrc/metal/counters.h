// Time stamps that the GPU takes where a compute encoder begins and ends.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace metalbench::metal {

class Counters {
 public:
  Counters(id<MTLDevice> device, bool supported);

  // Room for two samples; nil without counters, or while too many windows are in flight.
  [[nodiscard]] id<MTLCounterSampleBuffer> take();
  // Only after the window that it was taken for has ended.
  void give_back(id<MTLCounterSampleBuffer> samples);

  [[nodiscard]] double ns_per_tick();

 private:
  struct Moment {
    double cpu_ns = 0;
    std::uint64_t gpu = 0;
  };
  [[nodiscard]] Moment now() const;

  id<MTLDevice> device_;
  std::mutex mutex_;
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

#include "metal/counters.h"

#include <cstring>
#include <limits>
#include <thread>

namespace metalbench::metal {
namespace {

// Long enough that the clocks' resolution does not affect their ratio.
constexpr MTLTimestamp calibration_ns = 5'000'000;

id<MTLCounterSet> timestamp_set(id<MTLDevice> device) {
  for (id<MTLCounterSet> set in device.counterSets) {
    if ([set.name isEqualToString:MTLCommonCounterSetTimestamp]) return set;
  }
  return nil;
}

bool is_sampled_time(std::uint64_t sample) { return sample != 0 && sample != MTLCounterErrorValue; }

}  // namespace

Counters::Counters(id<MTLDevice> device, bool supported)
    : device_(device), timestamps_(supported ? timestamp_set(device) : nil) {
  if (timestamps_ != nil) opened_ = now();
}

Counters::Moment Counters::now() const {
  Moment moment;
  [device_ sampleTimestamps:&moment.cpu_ns gpuTimestamp:&moment.gpu];
  return moment;
}

id<MTLCounterSampleBuffer> Counters::take() {
  if (timestamps_ == nil) return nil;
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    const id<MTLCounterSampleBuffer> samples = free_.back();
    free_.pop_back();
    return samples;
  }
  auto* descriptor = [[MTLCounterSampleBufferDescriptor alloc] init];
  descriptor.counterSet = timestamps_;
  descriptor.storageMode = MTLStorageModeShared;
  descriptor.sampleCount = 2;
  descriptor.label = @"metalbench: ends of a window";
  return [device_ newCounterSampleBufferWithDescriptor:descriptor error:nil];
}

void Counters::give_back(id<MTLCounterSampleBuffer> samples) {
  if (samples == nil) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(samples);
}

// Measured only twice per process, because it stalls the queue.
double Counters::ns_per_tick() {
  const std::lock_guard lock(mutex_);
  if (ns_per_tick_) return *ns_per_tick_;
  Moment later = now();
  while (later.cpu_ns - opened_.cpu_ns < calibration_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(calibration_ns));
    later = now();
  }
  if (later.gpu <= opened_.gpu) {
    ns_per_tick_ = std::numeric_limits<double>::quiet_NaN();
  } else {
    ns_per_tick_ = static_cast<double>(later.cpu_ns - opened_.cpu_ns) /
                   static_cast<double>(later.gpu - opened_.gpu);
  }
  return *ns_per_tick_;
}

std::optional<CounterSpan> resolve(id<MTLCounterSampleBuffer> samples) {
  MTLCounterResultTimestamp stamps[2];
  NSData* const data = [samples resolveCounterRange:NSMakeRange(0, 2)];
  if (data.length < sizeof stamps) return std::nullopt;
  std::memcpy(stamps, data.bytes, sizeof stamps);
  const CounterSpan span{stamps[0].timestamp, stamps[1].timestamp};
  if (!is_sampled_time(span.start) || !is_sampled_time(span.end) || span.end < span.start)
    return std::nullopt;
  return span;
}

}  // namespace metalbench::metal

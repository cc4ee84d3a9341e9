#include "counters.h"

#include "control.h"
#include "gpu_clock.h"

using metal_double::is_on;
using metal_double::Switch;
using metal_double::violation;

@interface DoubleCounter : NSObject <MTLCounter>
@end

@implementation DoubleCounter
- (NSString*)name {
  return MTLCommonCounterTimestamp;
}
@end

@interface DoubleCounterSet : NSObject <MTLCounterSet>
@end

@implementation DoubleCounterSet
- (NSString*)name {
  return MTLCommonCounterSetTimestamp;
}
- (NSArray<id<MTLCounter>>*)counters {
  return @[ [[DoubleCounter alloc] init] ];
}
@end

NSArray<id<MTLCounterSet>>* metal_double::counter_sets() {
  return @[ [[DoubleCounterSet alloc] init] ];
}

@implementation DoubleCounterSampleBuffer {
  std::mutex _mutex;
  std::vector<std::uint64_t> _samples;
}
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLCounterSampleBufferDescriptor*)descriptor {
  if ((self = [super init]) != nil) {
    _device = device;
    _label = descriptor.label;
    _samples.resize(descriptor.sampleCount, MTLCounterErrorValue);
  }
  return self;
}
- (NSUInteger)sampleCount {
  return _samples.size();
}
- (void)put:(std::int64_t)ticks atIndex:(NSUInteger)index {
  if (index == MTLCounterDontSample) return;
  if (index >= _samples.size()) {
    violation("counter sample " + std::to_string(index) + " of a buffer of " +
              std::to_string(_samples.size()));
    return;
  }
  _samples[index] = is_on(Switch::error_counters)  ? MTLCounterErrorValue
                    : is_on(Switch::zero_counters) ? 0
                                                   : static_cast<std::uint64_t>(ticks);
}
- (void)sampleFrom:(std::int64_t)start_ticks
                to:(std::int64_t)end_ticks
           atIndex:(NSUInteger)start
               and:(NSUInteger)end {
  const auto swapped = [](NSUInteger index) { return index == MTLCounterDontSample ? index : 1 - index; };
  if (is_on(Switch::reversed_counters)) start = swapped(start), end = swapped(end);
  const std::scoped_lock lock(_mutex);
  [self put:start_ticks + metal_double::counter_offset atIndex:start];
  [self put:end_ticks + metal_double::counter_offset atIndex:end];
}
- (NSData*)resolveCounterRange:(NSRange)range {
  const std::scoped_lock lock(_mutex);
  if (range.location + range.length > _samples.size()) {
    violation("resolveCounterRange: beyond the " + std::to_string(_samples.size()) + " samples");
    return nil;
  }
  static_assert(sizeof(MTLCounterResultTimestamp) == sizeof(std::uint64_t));
  return [NSData dataWithBytes:_samples.data() + range.location
                        length:range.length * sizeof(std::uint64_t)];
}
@end

#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <mutex>
#include <vector>

@interface DoubleCounterSampleBuffer : NSObject <MTLCounterSampleBuffer>
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLCounterSampleBufferDescriptor*)descriptor;
// Once an encoder's work is done. Indices may be MTLCounterDontSample.
- (void)sampleFrom:(std::int64_t)start_ticks
                to:(std::int64_t)end_ticks
           atIndex:(NSUInteger)start
               and:(NSUInteger)end;
@end

namespace metal_double {

// The only one is `timestamp`.
[[nodiscard]] NSArray<id<MTLCounterSet>>* counter_sets();

}  // namespace metal_double

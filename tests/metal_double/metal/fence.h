#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <cstdint>

// Command buffers of a queue overlap on the GPU unless something orders them, such as this.
@interface DoubleFence : NSObject <MTLFence> {
 @public
  std::atomic<std::int64_t> _updatedAt;  // the tick when the pass ended that updated it last
}
- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end

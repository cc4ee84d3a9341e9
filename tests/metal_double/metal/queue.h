#pragma once

#import <Metal/Metal.h>

#include <vector>

#include "command_buffer.h"
#include "residency.h"

@interface DoubleQueue : NSObject <MTLCommandQueue>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
// On another thread, which is the queue's own: queues run beside one another.
- (void)run:(DoubleCommandBuffer*)command_buffer;
- (std::vector<DoubleResidencySet*>)residencySets;
@end

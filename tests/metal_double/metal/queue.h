#pragma once

#import <Metal/Metal.h>

#include <vector>

#include "residency.h"
#include "timeline.h"

// What a queue runs: by its worker, which tells of the end.
@protocol DoubleWork <NSObject>
- (void)runOn:(metal_double::Timeline&)timeline;
@end

@interface DoubleQueue : NSObject <MTLCommandQueue>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
// On another thread, which is the queue's own: queues run beside one another.
- (void)run:(id<DoubleWork>)work;
- (std::vector<DoubleResidencySet*>)residencySets;
@end

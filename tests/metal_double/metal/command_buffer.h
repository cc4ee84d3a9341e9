#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "commands.h"
#include "timeline.h"

@class DoubleQueue;

@interface DoubleCommandBuffer : NSObject <MTLCommandBuffer>
- (instancetype)initWithQueue:(DoubleQueue*)queue;
// By the queue's worker: runs everything, and tells of the end.
- (void)runOn:(metal_double::Timeline&)timeline;
@end

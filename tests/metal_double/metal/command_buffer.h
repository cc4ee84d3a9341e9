#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "commands.h"

@class DoubleQueue;

@interface DoubleCommandBuffer : NSObject <MTLCommandBuffer>
- (instancetype)initWithQueue:(DoubleQueue*)queue;
// By the queue's worker: runs everything, not before the tick `earliest`; returns the last tick.
- (std::int64_t)runFrom:(std::int64_t)earliest;
@end

#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "commands.h"
#include "queue.h"

@interface DoubleCommandBuffer : NSObject <MTLCommandBuffer, DoubleWork>
- (instancetype)initWithQueue:(DoubleQueue*)queue;
@end

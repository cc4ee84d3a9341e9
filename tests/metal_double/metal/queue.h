#pragma once

#import <Metal/Metal.h>

#include "command_buffer.h"

@interface DoubleQueue : NSObject <MTLCommandQueue>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
// On another thread, after everything before it.
- (void)run:(DoubleCommandBuffer*)command_buffer;
@end

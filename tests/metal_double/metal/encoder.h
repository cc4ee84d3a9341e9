#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "command_buffer.h"
#include "commands.h"

@interface DoubleEncoder : NSObject <MTLComputeCommandEncoder>
- (instancetype)initWithCommandBuffer:(DoubleCommandBuffer*)command_buffer
                                 pass:(std::shared_ptr<metal_double::Pass>)pass;
// Keeps the GPU busy for so long, after the commands.
- (void)spendGPUTime:(double)ns;
@end

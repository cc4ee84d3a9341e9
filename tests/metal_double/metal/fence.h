#pragma once

#import <Metal/Metal.h>

// Command buffers of a queue run one after the other here: there is nothing left to wait for.
@interface DoubleFence : NSObject <MTLFence>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end

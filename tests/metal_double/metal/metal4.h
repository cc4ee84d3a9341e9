// Command buffers and argument tables of Metal 4, which macOS 26 added. The headers do not declare
// them, as the SDK of macOS 14 does not; they are found by their selectors.
#pragma once

#import <Metal/Metal.h>

#include "queue.h"

@interface MTL4CommandQueueDescriptor : NSObject
@property(copy, nonatomic) NSString* label;
@end

@interface MTL4ArgumentTableDescriptor : NSObject
@property(readwrite, nonatomic) NSUInteger maxBufferBindCount;
@property(readwrite, nonatomic) NSUInteger maxTextureBindCount;
@property(readwrite, nonatomic) NSUInteger maxSamplerStateBindCount;
@property(copy, nonatomic) NSString* label;
@end

@interface DoubleArgumentTable : NSObject
- (instancetype)initWithDescriptor:(MTL4ArgumentTableDescriptor*)descriptor;
@end

@interface DoubleAllocator : NSObject
@end

@interface Double4Queue : DoubleQueue
@end

@interface Double4CommandBuffer : NSObject
@end

#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "core/library.h"

// What macOS 26 added, which the headers do not declare.
@interface MTLComputePipelineDescriptor ()
@property(readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup;
@end

@interface DoublePipeline : NSObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<const metalbench::Pipeline> _pipeline;
  NSUInteger _maxThreads;
  MTLSize _requiredThreads;    // 0 for any number
  bool _needsRequiredThreads;  // has cooperative tensors
}
// Nil after an error.
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLComputePipelineDescriptor*)descriptor
                         error:(__autoreleasing NSError**)error;
@end

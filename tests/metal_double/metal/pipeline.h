#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "core/library.h"

@interface DoublePipeline : NSObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<const metalbench::Pipeline> _pipeline;
  NSUInteger _maxThreads;
}
// Nil after an error.
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLComputePipelineDescriptor*)descriptor
                         error:(__autoreleasing NSError**)error;
@end

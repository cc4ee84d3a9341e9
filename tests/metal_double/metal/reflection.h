#pragma once

#import <Metal/Metal.h>

#include "core/library.h"

@interface MTLComputePipelineReflection ()
- (instancetype)initWithInfo:(const metalbench::PipelineInfo&)info;
@end

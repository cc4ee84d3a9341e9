#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/library.h"

@interface MTLComputePipelineReflection ()
// `source` tells which parameters the kernel never mentions.
- (instancetype)initWithInfo:(const metalbench::PipelineInfo&)info
                      source:(const std::string&)source;
@end

#pragma once

#import <Metal/Metal.h>

#include "core/texture.h"

@interface DoubleSampler : NSObject <MTLSamplerState> {
 @public
  metalbench::Sampler _sampler;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MTLSamplerDescriptor*)descriptor;
@end

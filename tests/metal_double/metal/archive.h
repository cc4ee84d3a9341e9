#pragma once

#import <Metal/Metal.h>

#include "library.h"

// Knows which functions were added, and nothing of their code: the engine has its own cache.
@interface DoubleArchive : NSObject <MTLBinaryArchive>
// Nil after an error.
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLBinaryArchiveDescriptor*)descriptor
                         error:(__autoreleasing NSError**)error;
- (BOOL)contains:(DoubleFunction*)function;
@end

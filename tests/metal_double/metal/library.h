#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <string>
#include <vector>

#include "core/library.h"
#include "engine.h"

@interface DoubleLibrary : NSObject <MTLLibrary> {
 @public
  std::shared_ptr<metalbench::Library> _library;
  std::vector<metal_double::SourceConstant> _constants;
  std::string _source;
}
// Nil after an error.
- (instancetype)initWithDevice:(id<MTLDevice>)device
                        source:(NSString*)source
                       options:(MTLCompileOptions*)options
                         error:(__autoreleasing NSError**)error;
@end

@interface DoubleFunction : NSObject <MTLFunction> {
 @public
  DoubleLibrary* _library;
  std::string _function;
  metalbench::FunctionConstants _constants;
}
@end

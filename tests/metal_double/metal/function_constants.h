#pragma once

#import <Metal/Metal.h>

#include <vector>

#include "core/library.h"
#include "engine.h"

@interface MTLFunctionConstantValues () {
 @public
  metalbench::FunctionConstants _values;
}
@end

@interface MTLFunctionConstant ()
- (instancetype)initWithConstant:(const metal_double::SourceConstant&)constant;
@end

namespace metal_double {

// Those values that the source has constants for, by name: as in Metal, others do not matter.
[[nodiscard]] metalbench::FunctionConstants select(const std::vector<SourceConstant>& constants,
                                                   MTLFunctionConstantValues* values);

}  // namespace metal_double

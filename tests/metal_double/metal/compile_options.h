#pragma once

#import <Metal/Metal.h>

#include "core/library.h"

// macOS 15 adds it; 0 is safe, 1 relaxed, 2 fast.
@interface MTLCompileOptions (MathMode)
@property(readwrite, nonatomic) NSInteger mathMode;
// 0 is fast, 1 precise.
@property(readwrite, nonatomic) NSInteger mathFloatingPointFunctions;
@end

namespace metal_double {

[[nodiscard]] metalbench::CompileOptions compile_options(MTLCompileOptions* options);

}  // namespace metal_double

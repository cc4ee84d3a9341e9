#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/library.h"

namespace metalbench::metal {

// The values as `function` declares their types. Throws CompileError when a value does not fit, or
// when no function of the library has a constant of that name or index.
[[nodiscard]] MTLFunctionConstantValues* constant_values(const FunctionConstants& constants,
                                                         id<MTLFunction> function,
                                                         id<MTLLibrary> library,
                                                         const std::string& name);

// The same values always give the same text, other values another one.
[[nodiscard]] std::string describe(const FunctionConstants& constants);

}  // namespace metalbench::metal

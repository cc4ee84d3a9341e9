#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/library.h"

namespace metalbench::metal {

// Convert the values to the types that `function` declares. Throws CompileError if a value does not
// fit, or if no function of the library has a constant of that name or index.
[[nodiscard]] MTLFunctionConstantValues* constant_values(const FunctionConstants& constants,
                                                         id<MTLFunction> function,
                                                         id<MTLLibrary> library,
                                                         const std::string& name);

// Return a text that is equal exactly for equal values.
[[nodiscard]] std::string describe(const FunctionConstants& constants);

}  // namespace metalbench::metal

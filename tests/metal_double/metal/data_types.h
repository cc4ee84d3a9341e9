#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/library.h"
#include "core/types.h"

namespace metal_double {

// Of a type as it is written in MSL; MTLDataTypeStruct for those without a separate value.
[[nodiscard]] MTLDataType data_type(const std::string& type);
// In bytes, of what a buffer parameter points to. Of a structure, whose members are not known
// here, it may be less than that of the widest one.
[[nodiscard]] NSUInteger alignment_of(const metalbench::Argument& argument);
// Of what a texture parameter yields: "texture2d<half, access::read>" gives half.
[[nodiscard]] MTLDataType texel_type(const metalbench::Argument& argument);
// A function constant's value from its bytes. Throws std::invalid_argument.
[[nodiscard]] metalbench::ConstantValue constant_value(const void* bytes, MTLDataType type);

}  // namespace metal_double

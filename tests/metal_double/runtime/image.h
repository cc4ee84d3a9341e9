// The classes that the compiler wrote into this image, made ready when it is loaded: before any
// other static initialisation of it.
#pragma once

#include <vector>

#include "runtime/abi.h"

namespace metal_double::runtime {

[[nodiscard]] const std::vector<const Category*>& categories_of(const Class* type);

}  // namespace metal_double::runtime

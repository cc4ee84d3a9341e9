#pragma once

#include "runtime/abi.h"

namespace metal_double::runtime {

// Makes every weak reference to an object without owners null.
void forget_weakly(Object* object);

}  // namespace metal_double::runtime

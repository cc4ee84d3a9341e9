#pragma once

#include "runtime/abi.h"

namespace metal_double::runtime {

// One owner more, for a block that is on the heap.
void retain_block(Object* block);

}  // namespace metal_double::runtime

// The numbers by which Metal 4 knows what is bound: resource ids, and the addresses of buffers.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "buffer.h"

namespace metal_double {

// A new number for the object, which leaves when it ends.
[[nodiscard]] MTLResourceID enter(id object);
void leave(MTLResourceID number);
// Nil if no object has the number, or none any more.
[[nodiscard]] id find_object(MTLResourceID number);

void enter(DoubleBuffer* buffer);
// Nil outside of all buffers.
[[nodiscard]] DoubleBuffer* find_buffer(std::uint64_t address);

}  // namespace metal_double

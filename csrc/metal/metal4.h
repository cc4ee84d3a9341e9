// Commands of Metal 4, for scripts with tensors: MTLComputeCommandEncoder has no method that binds
// a tensor to a kernel's parameter, MTL4ArgumentTable has (setResource:atBufferIndex:).
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>
#include <string>

#include "metal/completion.h"
#include "metal/encode.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Return the commands with one argument table instead of the commands that bind. Throws Error if
// Metal gives no table.
[[nodiscard]] Commands with_argument_table(id<MTLDevice> device, const Commands& commands,
                                           const std::string& where);

// Throws Error if Metal gives no queue.
[[nodiscard]] id new_metal4_queue(const Gpu& gpu);

// Encode passes of the script into a command buffer, and commit it. It begins after all that the
// queue had before. Return false if Metal gives no encoder.
[[nodiscard]] bool commit_metal4(id<MTLDevice> device, id queue, const Script& script,
                                 std::uint32_t passes,
                                 const std::shared_ptr<Completion>& completion);

}  // namespace metalbench::metal

#pragma once

#import <Metal/Metal.h>

#include <string>

namespace metalbench::metal {

// Lets the descriptor's function come compiled from the file at `path`, which is written when it
// is not there or damaged. A function that does not compile is left to who makes the pipeline; a
// file that cannot be written means no more than compiling once again.
void use_archive(id<MTLDevice> device, MTLComputePipelineDescriptor* descriptor,
                 const std::string& path);

}  // namespace metalbench::metal

#pragma once

#import <Metal/Metal.h>

#include <string>

namespace metalbench::metal {

// Load the descriptor's compiled function from the binary archive at `path`, and write the file if
// it is missing or damaged. Compile errors are left to the creation of the pipeline. A file that
// cannot be written is ignored: the function is then compiled again.
void use_archive(id<MTLDevice> device, MTLComputePipelineDescriptor* descriptor,
                 const std::string& path);

}  // namespace metalbench::metal

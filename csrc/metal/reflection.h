#pragma once

#import <Metal/Metal.h>

#include <optional>
#include <vector>

#include "core/signature.h"

namespace metalbench::metal {

// The arguments that a caller must bind: what Metal tells, in the words and in the order of the
// source where those are known. Arguments that the kernel does not use count, too.
[[nodiscard]] std::vector<Argument> arguments_of(MTLComputePipelineReflection* reflection,
                                                 const std::optional<Signature>& written);

}  // namespace metalbench::metal

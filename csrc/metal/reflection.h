#pragma once

#import <Metal/Metal.h>

#include <optional>
#include <vector>

#include "core/signature.h"

namespace metalbench::metal {

// Return the arguments that a caller must bind, including unused ones: Metal's reflection, with the
// names and the order of the source where they are known.
[[nodiscard]] std::vector<Argument> arguments_of(MTLComputePipelineReflection* reflection,
                                                 const std::optional<Signature>& written);

}  // namespace metalbench::metal

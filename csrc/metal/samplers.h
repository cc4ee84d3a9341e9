#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/texture.h"

namespace metalbench::metal {

// Throws Error if Metal refuses the sampler; `where` names the kernel and its argument.
[[nodiscard]] id<MTLSamplerState> make_sampler(id<MTLDevice> device, const Sampler& sampler,
                                               const std::string& where);

}  // namespace metalbench::metal

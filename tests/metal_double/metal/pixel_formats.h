#pragma once

#import <Metal/Metal.h>

#include "core/texture.h"

namespace metal_double {

// Throws std::invalid_argument for a format that the engine has no texels of.
[[nodiscard]] metalbench::PixelFormat pixel_format(MTLPixelFormat format);
[[nodiscard]] metalbench::TextureType texture_type(MTLTextureType type);
[[nodiscard]] MTLTextureType texture_type(metalbench::TextureType type);

}  // namespace metal_double

#pragma once

#import <Metal/Metal.h>

#include "core/texture.h"
#include "metal/capabilities.h"

namespace metalbench::metal {

// Return Metal's value for the format; the depth format if the kernel takes a depth texture.
[[nodiscard]] MTLPixelFormat pixel_format_of(const PixelFormat& format, bool depth);
[[nodiscard]] MTLTextureType texture_type_of(TextureType type);
// Return whether textures of this format support atomic operations.
[[nodiscard]] bool takes_atomics(const PixelFormat& format, TextureAtomics atomics);

}  // namespace metalbench::metal

#pragma once

#import <Metal/Metal.h>

#include "core/texture.h"
#include "metal/capabilities.h"

namespace metalbench::metal {

// Metal's own number of the format; as a depth format where the kernel takes a depth texture.
[[nodiscard]] MTLPixelFormat pixel_format_of(const PixelFormat& format, bool depth);
[[nodiscard]] MTLTextureType texture_type_of(TextureType type);
// Whether kernels may use atomic operations on textures of it.
[[nodiscard]] bool takes_atomics(const PixelFormat& format, TextureAtomics atomics);

}  // namespace metalbench::metal

#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <optional>

#include "buffer.h"
#include "core/texture.h"

@interface DoubleTexture : NSObject <MTLTexture> {
 @public
  std::optional<metalbench::Texture> _texture;
}
@end

namespace metal_double {

// Both give nil after a violation.
[[nodiscard]] DoubleTexture* make_texture(id<MTLDevice> device, MTLTextureDescriptor* descriptor,
                                          const Allocated& allocated) NS_RETURNS_RETAINED;
// Of a buffer's own texels.
[[nodiscard]] DoubleTexture* make_texture(DoubleBuffer* buffer, MTLTextureDescriptor* descriptor,
                                          NSUInteger offset,
                                          NSUInteger bytes_per_row) NS_RETURNS_RETAINED;

}  // namespace metal_double

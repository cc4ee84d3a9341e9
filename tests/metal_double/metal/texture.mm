#include "texture.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "control.h"
#include "engine.h"
#include "pixel_formats.h"
#include "resource_ids.h"

using metal_double::violation;
using metalbench::TextureLevel;

namespace {

std::uint32_t halved(NSUInteger size, std::size_t level) {
  return static_cast<std::uint32_t>(std::max<NSUInteger>(1, size >> level));
}

std::uint32_t slices_of(MTLTextureDescriptor* descriptor, std::size_t level) {
  switch (descriptor.textureType) {
    case MTLTextureType3D:
      return halved(descriptor.depth, level);
    case MTLTextureTypeCube:
      return 6;
    case MTLTextureTypeCubeArray:
      return static_cast<std::uint32_t>(6 * descriptor.arrayLength);
    default:
      return static_cast<std::uint32_t>(descriptor.arrayLength);
  }
}

// One level after the other, rows and slices without gaps. `bytes` grows by what it takes.
metalbench::TextureDescriptor layout(MTLTextureDescriptor* descriptor, std::size_t& bytes) {
  metalbench::TextureDescriptor found{.type = metal_double::texture_type(descriptor.textureType),
                                      .format = metal_double::pixel_format(descriptor.pixelFormat),
                                      .levels = {}};
  for (std::size_t i = 0; i < descriptor.mipmapLevelCount; ++i) {
    TextureLevel level{.offset = bytes,
                       .width = halved(descriptor.width, i),
                       .height = halved(descriptor.height, i),
                       .slices = slices_of(descriptor, i)};
    level.row_bytes = std::size_t{level.width} * found.format.bytes();
    level.slice_bytes = level.row_bytes * level.height;
    bytes += level.slice_bytes * level.slices;
    found.levels.push_back(level);
  }
  return found;
}

void check_atomics(id<MTLDevice> device, MTLTextureDescriptor* descriptor) {
  if ((descriptor.usage & MTLTextureUsageShaderAtomic) == 0) return;
  MTLGPUFamily first = MTLGPUFamilyApple6;
  switch (descriptor.pixelFormat) {
    case MTLPixelFormatR32Uint:
    case MTLPixelFormatR32Sint:
      break;
    case MTLPixelFormatRG32Uint:
      first = MTLGPUFamilyApple8;
      break;
    default:
      throw std::invalid_argument("ShaderAtomic is not a usage of this pixel format");
  }
  if (![device supportsFamily:first]) {
    throw std::invalid_argument("ShaderAtomic needs family Apple" +
                                std::to_string(first - MTLGPUFamilyApple1 + 1));
  }
}

// The texels of one row of a region.
struct Rows {
  std::byte* begin = nullptr;
  std::size_t row_bytes = 0;
  std::size_t slice_bytes = 0;
  std::size_t used_bytes = 0;
};

Rows rows_of(const metalbench::Texture& texture, const MTLRegion& region, NSUInteger level_number,
             NSUInteger slice) {
  const metalbench::TextureDescriptor& descriptor = texture.descriptor();
  if (level_number >= descriptor.levels.size()) {
    throw std::invalid_argument("level " + std::to_string(level_number) + " of " +
                                std::to_string(descriptor.levels.size()));
  }
  const TextureLevel& level = descriptor.levels[level_number];
  const MTLOrigin& at = region.origin;
  const MTLSize& size = region.size;
  const NSUInteger first = at.z + slice;
  if (at.x + size.width > level.width || at.y + size.height > level.height ||
      first + size.depth > level.slices) {
    throw std::invalid_argument("a region beyond the texture's texels");
  }
  if (slice != 0 && descriptor.type == metalbench::TextureType::texture3d) {
    throw std::invalid_argument("a slice of a 3D texture; its planes are a region's depth");
  }
  std::byte* begin = texture.buffer().bytes().data() + level.offset + first * level.slice_bytes +
                     at.y * level.row_bytes + at.x * descriptor.format.bytes();
  return {begin, level.row_bytes, level.slice_bytes, size.width * descriptor.format.bytes()};
}

}  // namespace

@implementation DoubleTexture {
 @package
  MTLTextureDescriptor* _given;
  metal_double::Allocated _allocated;
}
@synthesize device = _device;
@synthesize label = _label;
@synthesize buffer = _buffer;
@synthesize gpuResourceID = _gpuResourceID;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                         given:(MTLTextureDescriptor*)given
                        buffer:(id<MTLBuffer>)buffer
                       texture:(metalbench::Texture)texture
                     allocated:(metal_double::Allocated)allocated {
  if ((self = [super init]) != nil) {
    _gpuResourceID = metal_double::enter(self);
    _device = device;
    _given = given;
    _buffer = buffer;
    _texture.emplace(std::move(texture));
    _allocated = std::move(allocated);
    if (_allocated) *_allocated += _texture->buffer().size();
  }
  return self;
}
- (void)dealloc {
  metal_double::leave(_gpuResourceID);
  if (_allocated) *_allocated -= _texture->buffer().size();
}
- (NSUInteger)allocatedSize {
  return _texture->buffer().size();
}
- (MTLTextureType)textureType {
  return _given.textureType;
}
- (MTLPixelFormat)pixelFormat {
  return _given.pixelFormat;
}
- (NSUInteger)width {
  return _given.width;
}
- (NSUInteger)height {
  return _given.height;
}
- (NSUInteger)depth {
  return _given.depth;
}
- (NSUInteger)mipmapLevelCount {
  return _given.mipmapLevelCount;
}
- (NSUInteger)arrayLength {
  return _given.arrayLength;
}
- (MTLTextureUsage)usage {
  return _given.usage;
}
- (void)getBytes:(void*)pixelBytes
      bytesPerRow:(NSUInteger)bytesPerRow
    bytesPerImage:(NSUInteger)bytesPerImage
       fromRegion:(MTLRegion)region
      mipmapLevel:(NSUInteger)level
            slice:(NSUInteger)slice {
  try {
    const Rows rows = rows_of(*_texture, region, level, slice);
    auto* to = static_cast<std::byte*>(pixelBytes);
    for (NSUInteger z = 0; z < region.size.depth; ++z) {
      for (NSUInteger y = 0; y < region.size.height; ++y) {
        std::memcpy(to + z * bytesPerImage + y * bytesPerRow,
                    rows.begin + z * rows.slice_bytes + y * rows.row_bytes, rows.used_bytes);
      }
    }
  } catch (const std::exception& problem) {
    violation(std::string("getBytes: ") + problem.what());
  }
}
- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
                slice:(NSUInteger)slice
            withBytes:(const void*)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow
        bytesPerImage:(NSUInteger)bytesPerImage {
  try {
    const Rows rows = rows_of(*_texture, region, level, slice);
    const auto* from = static_cast<const std::byte*>(pixelBytes);
    for (NSUInteger z = 0; z < region.size.depth; ++z) {
      for (NSUInteger y = 0; y < region.size.height; ++y) {
        std::memcpy(rows.begin + z * rows.slice_bytes + y * rows.row_bytes,
                    from + z * bytesPerImage + y * bytesPerRow, rows.used_bytes);
      }
    }
  } catch (const std::exception& problem) {
    violation(std::string("replaceRegion: ") + problem.what());
  }
}
@end

DoubleTexture* metal_double::make_texture(id<MTLDevice> device, MTLTextureDescriptor* descriptor,
                                          const Allocated& allocated) {
  try {
    if (descriptor.textureType == MTLTextureTypeTextureBuffer) {
      throw std::invalid_argument("a texture buffer is made from a buffer");
    }
    check_atomics(device, descriptor);
    std::size_t bytes = 0;
    metalbench::TextureDescriptor texels = layout(descriptor, bytes);
    metalbench::Texture texture({engine().allocate(bytes), false}, std::move(texels));
    return [[DoubleTexture alloc] initWithDevice:device
                                           given:descriptor
                                          buffer:nil
                                         texture:std::move(texture)
                                       allocated:allocated];
  } catch (const std::exception& problem) {
    violation(std::string("newTextureWithDescriptor: ") + problem.what());
    return nil;
  }
}

DoubleTexture* metal_double::make_texture(DoubleBuffer* buffer, MTLTextureDescriptor* descriptor,
                                          NSUInteger offset, NSUInteger bytes_per_row) {
  try {
    std::size_t bytes = offset;
    metalbench::TextureDescriptor texels = layout(descriptor, bytes);
    if (texels.levels.size() != 1 || texels.levels[0].slices != 1) {
      throw std::invalid_argument("a buffer's texture has one level and one slice");
    }
    check_atomics(buffer.device, descriptor);
    const NSUInteger alignment =
        [buffer.device minimumTextureBufferAlignmentForPixelFormat:descriptor.pixelFormat];
    if (offset % alignment != 0 || bytes_per_row % alignment != 0) {
      throw std::invalid_argument("offset " + std::to_string(offset) + " and bytesPerRow " +
                                  std::to_string(bytes_per_row) + " must be multiples of " +
                                  std::to_string(alignment));
    }
    if (bytes_per_row < texels.levels[0].row_bytes) {
      throw std::invalid_argument("bytesPerRow " + std::to_string(bytes_per_row) +
                                  " holds no row of " + std::to_string(descriptor.width));
    }
    texels.levels[0].row_bytes = bytes_per_row;
    texels.levels[0].slice_bytes = bytes_per_row * descriptor.height;
    metalbench::Texture texture({buffer->_storage, true}, std::move(texels));
    return [[DoubleTexture alloc] initWithDevice:buffer.device
                                           given:descriptor
                                          buffer:buffer
                                         texture:std::move(texture)
                                       allocated:nullptr];
  } catch (const std::exception& problem) {
    violation(std::string("newTextureWithDescriptor:offset:bytesPerRow: ") + problem.what());
    return nil;
  }
}

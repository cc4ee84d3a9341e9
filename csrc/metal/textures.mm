#include "metal/textures.h"

#include <algorithm>
#include <cstring>

#include "core/errors.h"
#include "metal/pixel_formats.h"
#include "metal/strings.h"
#include "metal/texture_limits.h"

namespace metalbench::metal {
namespace {

// One image of a texture with both layouts of a copy.
struct Image {
  MTLRegion region;
  NSUInteger level = 0;
  NSUInteger slice = 0;
  std::byte* texels = nullptr;
  NSUInteger row_bytes = 0;    // 0 for a single row
  NSUInteger image_bytes = 0;  // 0 except for 3d
};

// Metal's rows must be a multiple of the texel size apart, within a limit.
bool rows_fit(const TextureLevel& level, std::uint32_t texel_bytes) {
  constexpr std::size_t most_texels_apart = 32767;
  return level.row_bytes % texel_bytes == 0 && level.row_bytes <= most_texels_apart * texel_bytes;
}

template <typename Copy>
void for_rows(Image image, const TextureLevel& level, const PixelFormat& format, const Copy& copy) {
  image.row_bytes = level.width * format.bytes();
  if (image.image_bytes != 0) image.image_bytes = image.row_bytes;
  image.region.size.height = 1;
  for (std::uint32_t row = 0; row < level.height; ++row) {
    image.region.origin.y = row;
    copy(image);
    image.texels += level.row_bytes;
  }
}

template <typename Copy>
void for_images(const Texture& texture, const Copy& copy) {
  const TextureDescriptor& descriptor = texture.descriptor();
  const bool volume = descriptor.type == TextureType::texture3d;
  for (std::size_t number = 0; number < descriptor.levels.size(); ++number) {
    const TextureLevel& level = descriptor.levels[number];
    for (std::uint32_t slice = 0; slice < level.slices; ++slice) {
      Image image;
      image.region = {{0, 0, volume ? slice : 0U}, {level.width, level.height, 1}};
      image.level = number;
      image.slice = volume ? 0 : slice;
      image.texels = texture.buffer().bytes().data() + level.offset + slice * level.slice_bytes;
      if (dimensions(descriptor.type) > 1) image.row_bytes = level.row_bytes;
      if (volume) image.image_bytes = level.height * level.row_bytes;
      if (image.row_bytes == 0 || rows_fit(level, descriptor.format.bytes())) {
        copy(image);
      } else {
        for_rows(image, level, descriptor.format, copy);
      }
    }
  }
}

MTLTextureUsage usage_of(bool read, bool written, bool atomic) {
  MTLTextureUsage usage = MTLTextureUsageUnknown;
  if (read) usage |= MTLTextureUsageShaderRead;
  if (written) usage |= MTLTextureUsageShaderWrite;
  if (written && atomic) usage |= MTLTextureUsageShaderAtomic;
  return usage;
}

bool same_level(const TextureLevel& a, const TextureLevel& b) {
  return a.offset == b.offset && a.width == b.width && a.height == b.height &&
         a.slices == b.slices && a.row_bytes == b.row_bytes && a.slice_bytes == b.slice_bytes;
}

bool same(const Texture& a, const Texture& b) {
  return a.buffer().storage() == b.buffer().storage() &&
         a.buffer().offset() == b.buffer().offset() && a.descriptor().type == b.descriptor().type &&
         a.descriptor().format == b.descriptor().format &&
         std::ranges::equal(a.descriptor().levels, b.descriptor().levels, same_level);
}

MTLTextureDescriptor* descriptor_of(const TextureDescriptor& texture, bool depth) {
  const TextureLevel& largest = texture.levels.front();
  auto* descriptor = [[MTLTextureDescriptor alloc] init];
  descriptor.textureType = texture_type_of(texture.type);
  descriptor.pixelFormat = pixel_format_of(texture.format, depth);
  descriptor.width = largest.width;
  descriptor.height = largest.height;
  descriptor.mipmapLevelCount = texture.levels.size();
  descriptor.storageMode = MTLStorageModeShared;
  switch (texture.type) {
    case TextureType::texture3d:
      descriptor.depth = largest.slices;
      break;
    case TextureType::texture1d_array:
    case TextureType::texture2d_array:
      descriptor.arrayLength = largest.slices;
      break;
    case TextureType::texturecube_array:
      descriptor.arrayLength = largest.slices / 6;
      break;
    default:
      break;
  }
  return descriptor;
}

std::size_t texel_bytes(const Texture& texture) {
  return texture.descriptor().levels.front().bytes(texture.descriptor().format);
}

std::byte* texels_of(const Texture& texture) {
  return texture.buffer().bytes().data() + texture.descriptor().levels.front().offset;
}

}  // namespace

const Argument& argument_of(const PipelineInfo& info, const Binding& binding) {
  return *std::ranges::find(info.arguments, binding.name, &Argument::name);
}

void TextureSet::note(const Dispatch& dispatch) {
  const PipelineInfo& info = dispatch.pipeline->info();
  for (const Binding& binding : dispatch.bindings) {
    const auto* textures = std::get_if<Textures>(&binding.value);
    if (textures == nullptr) continue;
    const Argument& argument = argument_of(info, binding);
    const std::string where = "[" + info.name + "] " + binding.name;
    for (const Texture& texture : *textures) {
      const std::string why = why_no_texture(texture.descriptor());
      if (!why.empty()) throw Unsupported(where + ": " + why);
      Use* use = find_use(texture, argument.texture.depth);
      if (use == nullptr) {
        uses_.push_back({.texture = texture, .where = where, .depth = argument.texture.depth});
        use = &uses_.back();
      }
      use->read |= argument.access != Access::write;
      use->written |= argument.access == Access::write || argument.access == Access::read_write;
    }
  }
}

TextureSet::Use* TextureSet::find_use(const Texture& texture, bool depth) {
  const auto found = std::ranges::find_if(
      uses_, [&](const Use& use) { return use.depth == depth && same(use.texture, texture); });
  return found == uses_.end() ? nullptr : &*found;
}

id<MTLTexture> TextureSet::find(const Texture& texture, const Argument& argument) {
  Use& use = *find_use(texture, argument.texture.depth);
  if (use.made == nil) make(use);
  return use.made;
}

void TextureSet::make(Use& use) const {
  const TextureDescriptor& texture = use.texture.descriptor();
  MTLTextureDescriptor* const descriptor = descriptor_of(texture, use.depth);
  descriptor.usage = usage_of(use.read, use.written, takes_atomics(texture.format, atomics_));
  if (texture.type == TextureType::texture_buffer) {
    // Separate memory, because the caller's rarely has the alignment that Metal requires.
    constexpr NSUInteger alignment = 256;
    const NSUInteger length = (texel_bytes(use.texture) + alignment - 1) / alignment * alignment;
    use.texels = [device_ newBufferWithLength:length options:MTLResourceStorageModeShared];
    use.made = [use.texels newTextureWithDescriptor:descriptor offset:0 bytesPerRow:length];
  } else {
    use.made = [device_ newTextureWithDescriptor:descriptor];
  }
  if (use.made == nil) {
    throw Error(use.where + ": Metal makes no texture of " + to_string(texture.format) + " for " +
                std::to_string(use.texture.buffer().size()) +
                " bytes; the GPU's memory may be full");
  }
  use.made.label = to_ns(use.where);
}

void TextureSet::copy_in() const {
  for (const Use& use : uses_) {
    if (use.texels != nil) {
      std::memcpy(use.texels.contents, texels_of(use.texture), texel_bytes(use.texture));
      continue;
    }
    const id<MTLTexture> made = use.made;
    for_images(use.texture, [made](const Image& image) {
      [made replaceRegion:image.region
              mipmapLevel:image.level
                    slice:image.slice
                withBytes:image.texels
              bytesPerRow:image.row_bytes
            bytesPerImage:image.image_bytes];
    });
  }
}

void TextureSet::copy_back() const {
  for (const Use& use : uses_) {
    if (!use.written) continue;
    if (use.texels != nil) {
      std::memcpy(texels_of(use.texture), use.texels.contents, texel_bytes(use.texture));
      continue;
    }
    const id<MTLTexture> made = use.made;
    for_images(use.texture, [made](const Image& image) {
      [made getBytes:image.texels
            bytesPerRow:image.row_bytes
          bytesPerImage:image.image_bytes
             fromRegion:image.region
            mipmapLevel:image.level
                  slice:image.slice];
    });
  }
}

}  // namespace metalbench::metal

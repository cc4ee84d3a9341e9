#include "metal/pixel_formats.h"

#include <array>
#include <cstddef>

namespace metalbench::metal {
namespace {

// In the order of Channel; for one, two and four components.
constexpr std::array<std::array<MTLPixelFormat, 3>, 13> formats = {{
    {MTLPixelFormatR8Unorm, MTLPixelFormatRG8Unorm, MTLPixelFormatRGBA8Unorm},
    {MTLPixelFormatR8Snorm, MTLPixelFormatRG8Snorm, MTLPixelFormatRGBA8Snorm},
    {MTLPixelFormatR8Uint, MTLPixelFormatRG8Uint, MTLPixelFormatRGBA8Uint},
    {MTLPixelFormatR8Sint, MTLPixelFormatRG8Sint, MTLPixelFormatRGBA8Sint},
    {MTLPixelFormatR16Unorm, MTLPixelFormatRG16Unorm, MTLPixelFormatRGBA16Unorm},
    {MTLPixelFormatR16Snorm, MTLPixelFormatRG16Snorm, MTLPixelFormatRGBA16Snorm},
    {MTLPixelFormatR16Uint, MTLPixelFormatRG16Uint, MTLPixelFormatRGBA16Uint},
    {MTLPixelFormatR16Sint, MTLPixelFormatRG16Sint, MTLPixelFormatRGBA16Sint},
    {MTLPixelFormatR16Float, MTLPixelFormatRG16Float, MTLPixelFormatRGBA16Float},
    {MTLPixelFormatR32Uint, MTLPixelFormatRG32Uint, MTLPixelFormatRGBA32Uint},
    {MTLPixelFormatR32Sint, MTLPixelFormatRG32Sint, MTLPixelFormatRGBA32Sint},
    {MTLPixelFormatR32Float, MTLPixelFormatRG32Float, MTLPixelFormatRGBA32Float},
    {MTLPixelFormatR8Unorm_sRGB, MTLPixelFormatRG8Unorm_sRGB, MTLPixelFormatRGBA8Unorm_sRGB},
}};
// Packed formats, in the order of Channel after the others.
constexpr std::array<MTLPixelFormat, 9> packed_formats = {
    MTLPixelFormatB5G6R5Unorm, MTLPixelFormatA1BGR5Unorm,  MTLPixelFormatABGR4Unorm,
    MTLPixelFormatBGR5A1Unorm, MTLPixelFormatRGB10A2Unorm, MTLPixelFormatBGR10A2Unorm,
    MTLPixelFormatRGB10A2Uint, MTLPixelFormatRG11B10Float, MTLPixelFormatRGB9E5Float,
};

}  // namespace

MTLPixelFormat pixel_format_of(const PixelFormat& format, bool depth) {
  if (depth && format.channel == Channel::float32) return MTLPixelFormatDepth32Float;
  if (depth && format.channel == Channel::unorm16) return MTLPixelFormatDepth16Unorm;
  if (format.bgra) {
    const bool srgb = format.channel == Channel::unorm8_srgb;
    return srgb ? MTLPixelFormatBGRA8Unorm_sRGB : MTLPixelFormatBGRA8Unorm;
  }
  const auto number = static_cast<std::size_t>(format.channel);
  if (mb::is_packed(format.channel)) return packed_formats[number - formats.size()];
  const std::size_t count = format.channels == 4 ? 2 : format.channels == 2 ? 1 : 0;
  return formats[number][count];
}

MTLTextureType texture_type_of(TextureType type) {
  switch (type) {
    case TextureType::texture1d:
      return MTLTextureType1D;
    case TextureType::texture1d_array:
      return MTLTextureType1DArray;
    case TextureType::texture2d_array:
      return MTLTextureType2DArray;
    case TextureType::texture2d_ms:
      return MTLTextureType2DMultisample;
    case TextureType::texture3d:
      return MTLTextureType3D;
    case TextureType::texturecube:
      return MTLTextureTypeCube;
    case TextureType::texturecube_array:
      return MTLTextureTypeCubeArray;
    case TextureType::texture_buffer:
      return MTLTextureTypeTextureBuffer;
    case TextureType::texture2d:
    case TextureType::none:
      break;
  }
  return MTLTextureType2D;
}

bool takes_atomics(const PixelFormat& format, TextureAtomics atomics) {
  const bool whole = format.channel == Channel::uint32 || format.channel == Channel::sint32;
  if (whole && format.channels == 1) return atomics != TextureAtomics::none;
  const bool pair = format.channel == Channel::uint32 && format.channels == 2;
  return pair && atomics == TextureAtomics::pairs;
}

}  // namespace metalbench::metal

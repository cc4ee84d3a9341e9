#include "pixel_formats.h"

#include <array>
#include <stdexcept>
#include <string>

namespace metal_double {
namespace {

using metalbench::Channel;
using metalbench::TextureType;

struct Format {
  MTLPixelFormat name;
  Channel channel;
  std::uint8_t channels;
};

constexpr std::array formats = {
    Format{MTLPixelFormatR8Unorm, Channel::unorm8, 1},
    Format{MTLPixelFormatR8Snorm, Channel::snorm8, 1},
    Format{MTLPixelFormatR8Uint, Channel::uint8, 1},
    Format{MTLPixelFormatR8Sint, Channel::sint8, 1},
    Format{MTLPixelFormatR16Unorm, Channel::unorm16, 1},
    Format{MTLPixelFormatR16Snorm, Channel::snorm16, 1},
    Format{MTLPixelFormatR16Uint, Channel::uint16, 1},
    Format{MTLPixelFormatR16Sint, Channel::sint16, 1},
    Format{MTLPixelFormatR16Float, Channel::float16, 1},
    Format{MTLPixelFormatRG8Unorm, Channel::unorm8, 2},
    Format{MTLPixelFormatRG8Snorm, Channel::snorm8, 2},
    Format{MTLPixelFormatRG8Uint, Channel::uint8, 2},
    Format{MTLPixelFormatRG8Sint, Channel::sint8, 2},
    Format{MTLPixelFormatR32Uint, Channel::uint32, 1},
    Format{MTLPixelFormatR32Sint, Channel::sint32, 1},
    Format{MTLPixelFormatR32Float, Channel::float32, 1},
    Format{MTLPixelFormatRG16Unorm, Channel::unorm16, 2},
    Format{MTLPixelFormatRG16Snorm, Channel::snorm16, 2},
    Format{MTLPixelFormatRG16Uint, Channel::uint16, 2},
    Format{MTLPixelFormatRG16Sint, Channel::sint16, 2},
    Format{MTLPixelFormatRG16Float, Channel::float16, 2},
    Format{MTLPixelFormatRGBA8Unorm, Channel::unorm8, 4},
    Format{MTLPixelFormatRGBA8Snorm, Channel::snorm8, 4},
    Format{MTLPixelFormatRGBA8Uint, Channel::uint8, 4},
    Format{MTLPixelFormatRGBA8Sint, Channel::sint8, 4},
    Format{MTLPixelFormatBGRA8Unorm, Channel::unorm8, 4},
    Format{MTLPixelFormatRG32Uint, Channel::uint32, 2},
    Format{MTLPixelFormatRG32Sint, Channel::sint32, 2},
    Format{MTLPixelFormatRG32Float, Channel::float32, 2},
    Format{MTLPixelFormatRGBA16Unorm, Channel::unorm16, 4},
    Format{MTLPixelFormatRGBA16Snorm, Channel::snorm16, 4},
    Format{MTLPixelFormatRGBA16Uint, Channel::uint16, 4},
    Format{MTLPixelFormatRGBA16Sint, Channel::sint16, 4},
    Format{MTLPixelFormatRGBA16Float, Channel::float16, 4},
    Format{MTLPixelFormatRGBA32Uint, Channel::uint32, 4},
    Format{MTLPixelFormatRGBA32Sint, Channel::sint32, 4},
    Format{MTLPixelFormatRGBA32Float, Channel::float32, 4},
    Format{MTLPixelFormatR8Unorm_sRGB, Channel::unorm8_srgb, 1},
    Format{MTLPixelFormatRG8Unorm_sRGB, Channel::unorm8_srgb, 2},
    Format{MTLPixelFormatRGBA8Unorm_sRGB, Channel::unorm8_srgb, 4},
    Format{MTLPixelFormatBGRA8Unorm_sRGB, Channel::unorm8_srgb, 4},
    Format{MTLPixelFormatB5G6R5Unorm, Channel::b5g6r5_unorm, 1},
    Format{MTLPixelFormatA1BGR5Unorm, Channel::a1bgr5_unorm, 1},
    Format{MTLPixelFormatABGR4Unorm, Channel::abgr4_unorm, 1},
    Format{MTLPixelFormatBGR5A1Unorm, Channel::bgr5a1_unorm, 1},
    Format{MTLPixelFormatRGB10A2Unorm, Channel::rgb10a2_unorm, 1},
    Format{MTLPixelFormatBGR10A2Unorm, Channel::bgr10a2_unorm, 1},
    Format{MTLPixelFormatRGB10A2Uint, Channel::rgb10a2_uint, 1},
    Format{MTLPixelFormatRG11B10Float, Channel::rg11b10_float, 1},
    Format{MTLPixelFormatRGB9E5Float, Channel::rgb9e5_float, 1},
    Format{MTLPixelFormatDepth16Unorm, Channel::unorm16, 1},
    Format{MTLPixelFormatDepth32Float, Channel::float32, 1},
};

constexpr std::array<std::pair<MTLTextureType, TextureType>, 9> types = {{
    {MTLTextureType1D, TextureType::texture1d},
    {MTLTextureType1DArray, TextureType::texture1d_array},
    {MTLTextureType2D, TextureType::texture2d},
    {MTLTextureType2DArray, TextureType::texture2d_array},
    {MTLTextureType2DMultisample, TextureType::texture2d_ms},
    {MTLTextureTypeCube, TextureType::texturecube},
    {MTLTextureTypeCubeArray, TextureType::texturecube_array},
    {MTLTextureType3D, TextureType::texture3d},
    {MTLTextureTypeTextureBuffer, TextureType::texture_buffer},
}};

}  // namespace

metalbench::PixelFormat pixel_format(MTLPixelFormat format) {
  for (const Format& one : formats) {
    if (one.name == format) {
      return {one.channel, one.channels, format == MTLPixelFormatBGRA8Unorm ||
                                              format == MTLPixelFormatBGRA8Unorm_sRGB};
    }
  }
  throw std::invalid_argument("pixel format " + std::to_string(format) + " has no texels here");
}

TextureType texture_type(MTLTextureType type) {
  for (const auto& [metal, core] : types) {
    if (metal == type) return core;
  }
  throw std::invalid_argument("texture type " + std::to_string(type) + " is not supported here");
}

MTLTextureType texture_type(TextureType type) {
  for (const auto& [metal, core] : types) {
    if (core == type) return metal;
  }
  return MTLTextureType2D;
}

}  // namespace metal_double

// Enumerations of textures and samplers for host and kernels: C++17, freestanding.
// csrc/core/texture.h includes them for all devices, texture_abi.h for the cpu device's kernels.
#pragma once

namespace mb {
// Namespace without functions, because argument-dependent lookup of Metal's types searches it.
namespace types {

// Storage type of one texel component.
enum class Channel : unsigned char {
  unorm8,
  snorm8,
  uint8,
  sint8,
  unorm16,
  snorm16,
  uint16,
  sint16,
  float16,
  uint32,
  sint32,
  float32,
  unorm8_srgb,  // for colours; alpha is unorm8
  // All components in one number, the first-named in its lowest bits.
  b5g6r5_unorm,
  a1bgr5_unorm,
  abgr4_unorm,
  bgr5a1_unorm,
  rgb10a2_unorm,
  bgr10a2_unorm,
  rgb10a2_uint,
  rg11b10_float,
  rgb9e5_float,
};

// Texture type; `depth` textures have one floating-point component.
enum class TextureType : unsigned char {
  none,
  texture1d,
  texture1d_array,
  texture2d,
  texture2d_array,
  texture2d_ms,
  texture3d,
  texturecube,
  texturecube_array,
  texture_buffer,
};

// Element type of a texture: the type that texels convert to; it restricts the formats.
enum class TexelKind : unsigned char { floating, signed_integer, unsigned_integer };

enum class AddressMode : unsigned char {
  clamp_to_zero,
  clamp_to_edge,
  repeat,
  mirrored_repeat,
  clamp_to_border
};
enum class Filter : unsigned char { nearest, linear };
enum class MipFilter : unsigned char { none, nearest, linear };
enum class BorderColor : unsigned char { transparent_black, opaque_black, opaque_white };
enum class CompareFunction : unsigned char {
  none,
  never,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  always,
};
enum class SampleReduction : unsigned char { weighted_average, minimum, maximum };

struct Sampler {
  bool normalized = true;
  AddressMode address[3] = {AddressMode::clamp_to_edge, AddressMode::clamp_to_edge,
                            AddressMode::clamp_to_edge};
  Filter mag_filter = Filter::nearest;
  Filter min_filter = Filter::nearest;
  MipFilter mip_filter = MipFilter::none;
  BorderColor border = BorderColor::transparent_black;
  CompareFunction compare = CompareFunction::none;
  SampleReduction reduction = SampleReduction::weighted_average;
  unsigned char max_anisotropy = 1;
  float lod_min = 0;
  float lod_max = 3.402823466e+38F;
};

}  // namespace types

using namespace types;

constexpr bool is_packed(Channel channel) { return channel >= Channel::b5g6r5_unorm; }

}  // namespace mb

// Textures and samplers as the runtime hands them to a kernel. Included by abi.h.
#pragma once

namespace mb {

inline constexpr u32 max_textures = 128;
inline constexpr u32 max_samplers = 16;

// How one component of a texel is stored.
enum class Channel : u8 {
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
};

// What a texture consists of; `depth` textures have one floating-point component.
enum class TextureType : u8 {
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

// The element type of a texture: what a texel is converted to, and so which formats will do.
enum class TexelKind : u8 { floating, signed_integer, unsigned_integer };

enum class TextureAccess : u8 { sample, read, write, read_write };

// `slices` are the planes of a 3d texture, the elements of an array, the faces of its cubes, or the
// samples of every texel, which then have a plane each.
struct TextureLevel {
  u8* data;
  u64 row_bytes;
  u64 slice_bytes;
  u32 texel_bytes;
  u32 width, height, slices;
};

struct Texture {
  TextureLevel base;
  const TextureLevel* levels;  // the smaller ones, from level 1
  u32 level_count;
  Channel channel;
  u8 channels;  // 1, 2 or 4
  bool bgra;    // the first and the third are exchanged
};

enum class AddressMode : u8 {
  clamp_to_zero,
  clamp_to_edge,
  repeat,
  mirrored_repeat,
  clamp_to_border
};
enum class Filter : u8 { nearest, linear };
enum class MipFilter : u8 { none, nearest, linear };
enum class BorderColor : u8 { transparent_black, opaque_black, opaque_white };
enum class CompareFunction : u8 {
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
enum class SampleReduction : u8 { weighted_average, minimum, maximum };

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
  u8 max_anisotropy = 1;
  float lod_min = 0;
  float lod_max = 3.402823466e+38F;
};

// What a kernel's texture parameter demands; `count` is more than one for array<texture2d<T>, N>.
struct TextureUse {
  TextureType type;
  TexelKind texel;
  TextureAccess access;
  bool depth;
};

}  // namespace mb

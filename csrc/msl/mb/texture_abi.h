// Descriptors of textures and samplers for kernels. Included by abi.h.
#pragma once

#include "texture_types.h"

namespace mb {

inline constexpr u32 max_textures = 128;
inline constexpr u32 max_samplers = 16;

namespace types {

enum class TextureAccess : u8 { sample, read, write, read_write };

// `slices` are the planes of a 3d texture, the elements of an array, the faces of its cubes, or the
// samples of each texel (one plane per sample).
struct TextureLevel {
  u8* data;
  u64 row_bytes;
  u64 slice_bytes;
  u32 texel_bytes;
  u32 width, height, slices;
};

struct Texture {
  TextureLevel base;
  const TextureLevel* levels;  // smaller levels, from level 1
  u32 level_count;
  Channel channel;
  u8 channels;  // 1, 2 or 4
  bool bgra;    // exchange the first and third component
};

// Requirements of a texture parameter; `count` is above 1 for array<texture2d<T>, N>.
struct TextureUse {
  TextureType type;
  TexelKind texel;
  TextureAccess access;
  bool depth;
};

}  // namespace types

[[gnu::always_inline]] inline const TextureLevel& level_of(const Texture& t, u32 lod) {
  return lod == 0 ? t.base : t.levels[lod - 1];
}

}  // namespace mb

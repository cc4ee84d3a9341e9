// Cube textures: from direction to face and position, and texels beyond a face's edge.
#pragma once

#include "texel.h"

namespace mb {

struct FacePlace {
  u32 face;    // +x, -x, +y, -y, +z, -z
  float u, v;  // 0 to 1
};

MB_FUNC FacePlace face_of(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  u32 face;
  float u, v, major;
  if (az >= ax && az >= ay) {
    face = z < 0 ? 5 : 4, u = z < 0 ? -x : x, v = -y, major = az;
  } else if (ay >= ax) {
    face = y < 0 ? 3 : 2, u = x, v = y < 0 ? -z : z, major = ay;
  } else {
    face = x < 0 ? 1 : 0, u = x < 0 ? z : -z, v = -y, major = ax;
  }
  const float scale = major > 0 ? 0.5f / major : 0;
  return FacePlace{face, u * scale + 0.5f, v * scale + 0.5f};
}

// Return the texel at (x, y) of a face, on the adjacent face if outside, as on an unfolded cube.
template <class W>
MB_FUNC vec<W, 4> cube_texel(const Texture& t, const TextureLevel& level, u32 slice, int x, int y,
                             bool counts) {
  const int n = static_cast<int>(level.width);
  if (x < 0 || y < 0 || x >= n || y >= n) {
    const float u = (2 * x + 1) / static_cast<float>(n) - 1;
    const float v = (2 * y + 1) / static_cast<float>(n) - 1;
    FacePlace place{};
    switch (slice % 6) {
      case 0: place = face_of(1, -v, -u); break;
      case 1: place = face_of(-1, -v, u); break;
      case 2: place = face_of(u, 1, v); break;
      case 3: place = face_of(u, -1, -v); break;
      case 4: place = face_of(u, -v, 1); break;
      default: place = face_of(-u, -v, -1); break;
    }
    slice = slice - slice % 6 + place.face;
    x = static_cast<int>(place.u * n), y = static_cast<int>(place.v * n);
    x = x < n ? x : n - 1, y = y < n ? y : n - 1;
  }
  u8* at = address_of(level, x, y, slice);
  if (counts) MB_TEXEL_ACCESS(at, level.texel_bytes, read);
  return load_texel<W>(t, at);
}

}  // namespace mb

// Sampling: coordinates to texels, levels of detail, filters and address modes.
#pragma once

#include "exponential.h"
#include "sampler.h"
#include "texel.h"
#include "texture_cube.h"

namespace mb {

constexpr int beyond_zero = -1, beyond_border = -2;

// Return the texel for index i of n on one axis, or a border marker.
MB_FUNC int wrap(AddressMode mode, int i, int n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case AddressMode::clamp_to_zero: return beyond_zero;
    case AddressMode::clamp_to_border: return beyond_border;
    case AddressMode::clamp_to_edge: return i < 0 ? 0 : n - 1;
    case AddressMode::repeat: return ((i % n) + n) % n;
    case AddressMode::mirrored_repeat: break;
  }
  const int place = ((i % (2 * n)) + 2 * n) % (2 * n);
  return place < n ? place : 2 * n - 1 - place;
}

// Two neighbours on one axis and the weight of the second.
struct Taps {
  int at[2] = {0, 0};
  float weight = 0;
};

// `p` in texels. Values outside of the texture's range (and NaN) are clamped to the range of int.
MB_FUNC Taps taps_of(bool linear, float p, int offset) {
  p = p == p ? p : 0;
  p = p < -1e9f ? -1e9f : p > 1e9f ? 1e9f : p;
  const float q = linear ? p - 0.5f : p;
  const float whole = __builtin_floorf(q);
  const int i = static_cast<int>(whole) + offset;
  return Taps{{i, i + 1}, linear ? q - whole : 0.0f};
}

// Type of texels during accumulation.
template <class V>
MB_FUNC V reduced(SampleReduction reduction, V sum, V value, float weight) {
  using metal::max;
  using metal::min;
  if (reduction == SampleReduction::weighted_average) return sum + value * weight;
  if (weight == 0) return sum;
  return reduction == SampleReduction::minimum ? min(sum, value) : max(sum, value);
}

// Return the weighted sum of fetch(x, y, z, counts) of 2^D texels, or the first one alone. A loop,
// because the fetch code is long. Texels of weight zero are ignored.
template <int D, class Fetch>
MB_FUNC auto blend(const Taps (&taps)[3], bool linear, SampleReduction reduction, Fetch fetch) {
  using V = decltype(fetch(0, 0, 0, true));
  V sum = V(0);
  const int corners = linear ? 1 << D : 1;
#pragma clang loop unroll(disable) vectorize(disable)
  for (int corner = 0; corner < corners; ++corner) {
    const int a = corner & 1, b = corner >> 1 & 1, c = corner >> 2;
    float weight = a ? taps[0].weight : 1 - taps[0].weight;
    if (D > 1) weight *= b ? taps[1].weight : 1 - taps[1].weight;
    if (D > 2) weight *= c ? taps[2].weight : 1 - taps[2].weight;
    const V value = fetch(taps[0].at[a], taps[1].at[b], taps[2].at[c], weight != 0);
    sum = corner == 0 && reduction != SampleReduction::weighted_average
              ? value
              : reduced(reduction, sum, value, weight);
  }
  return sum;
}

template <class W>
MB_FUNC vec<W, 4> border_texel(const Texture& t, const Sampler& s, bool zero) {
  const bool white = !zero && s.border == BorderColor::opaque_white;
  const bool clear = zero || s.border == BorderColor::transparent_black;
  const W colour = white ? W(1) : W(0);
  return vec<W, 4>(colour, t.channels > 1 ? colour : W(0), t.channels > 2 ? colour : W(0),
                   clear && t.channels > 2 ? W(0) : W(1));
}

// Return a texel by its index on each axis, inside or outside of the level.
template <int D, class W>
MB_FUNC vec<W, 4> fetch_texel(const Texture& t, const TextureLevel& level, const Sampler& s, int x,
                              int y, int z, bool counts) {
  x = wrap(s.address[0], x, static_cast<int>(level.width));
  if (D > 1) y = wrap(s.address[1], y, static_cast<int>(level.height));
  if (D > 2) z = wrap(s.address[2], z, static_cast<int>(level.slices));
  if (x < 0 || y < 0 || z < 0) {
    const bool border = x == beyond_border || y == beyond_border || z == beyond_border;
    return border_texel<W>(t, s, !border);
  }
  u8* at = address_of(level, x, y, z);
  if (counts) MB_TEXEL_ACCESS(at, level.texel_bytes, read);
  return load_texel<W>(t, at);
}

// Sample position: coordinates on D axes (on its face for a cube) and the slice.
struct Spot {
  float at[3];
  u32 slice;
};

// Sample one level; `see` maps a texel to the filtered value.
template <int D, bool cube, class W, class See>
MB_FUNC auto sample_level(const Texture& t, u32 lod, const Sampler& s, const Spot& spot,
                          bool linear, const int* offset, See see) {
  const TextureLevel& level = level_of(t, lod);
  Taps taps[3];
  const u32 sizes[3] = {level.width, level.height, level.slices};
  for (int axis = 0; axis < D; ++axis) {
    const float size = s.normalized || cube ? static_cast<float>(sizes[axis]) : 1.0f;
    taps[axis] = taps_of(linear, spot.at[axis] * size, offset[axis]);
  }
  auto fetch = [&](int x, int y, int z, bool counts) __attribute__((always_inline)) {
    if constexpr (cube) return see(cube_texel<W>(t, level, spot.slice, x, y, counts));
    else if constexpr (D < 3) return see(fetch_texel<D, W>(t, level, s, x, y, spot.slice, counts));
    else return see(fetch_texel<D, W>(t, level, s, x, y, z, counts));
  };
  if constexpr (__is_same(W, float)) return blend<D>(taps, linear, s.reduction, fetch);
  else return fetch(taps[0].at[0], taps[1].at[0], taps[2].at[0], true);
}

// Return the level of detail at which one step in x or y is one texel wide.
template <bool cube>
MB_FUNC float lod_of(const Texture& t, const Sampler& s, const SampleOptions& options) {
  if (!options.gradient) return options.lod;
  vec<float, 3> size(1);
  if (cube) size = vec<float, 3>(t.base.width * 0.5f);
  else if (s.normalized) size = vec<float, 3>(t.base.width, t.base.height, t.base.slices);
  const vec<float, 3> x = options.x * size, y = options.y * size;
  const float a = x.x * x.x + x.y * x.y + x.z * x.z, b = y.x * y.x + y.y * y.y + y.z * y.z;
  return 0.5f * metal::log2(a < b ? b : a);
}

template <int D, bool cube, class W, class See>
MB_FUNC auto sample_levels(const Texture& t, const Sampler& s, const Spot& spot,
                           const SampleOptions& options, See see) {
  float lod = lod_of<cube>(t, s, options);
  lod = lod > s.lod_min ? lod : s.lod_min;
  lod = lod < s.lod_max ? lod : s.lod_max;
  lod = lod > options.min_lod ? lod : options.min_lod;
  const bool linear =
      __is_same(W, float) && (lod > 0 ? s.min_filter : s.mag_filter) == Filter::linear;
  const float last = static_cast<float>(t.level_count - 1);
  lod = s.mip_filter == MipFilter::none ? 0 : lod < 0 ? 0 : lod < last ? lod : last;
  if (s.mip_filter == MipFilter::nearest) lod = __builtin_floorf(lod + 0.5f);
  const u32 first = static_cast<u32>(lod);
  const float weight = lod - static_cast<float>(first);
  auto at = [&](u32 level) __attribute__((always_inline)) {
    return sample_level<D, cube, W>(t, level, s, spot, linear, options.offset, see);
  };
  if constexpr (!__is_same(W, float)) {
    return at(first);
  } else {
    auto sum = decltype(at(0))(0);
    const u32 count = weight > 0 ? 2 : 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (u32 i = 0; i < count; ++i) sum = sum + at(first + i) * (i == 0 ? 1 - weight : weight);
    return sum;
  }
}

MB_FUNC bool passes(CompareFunction function, float reference, float texel) {
  switch (function) {
    case CompareFunction::less: return reference < texel;
    case CompareFunction::less_equal: return reference <= texel;
    case CompareFunction::greater: return reference > texel;
    case CompareFunction::greater_equal: return reference >= texel;
    case CompareFunction::equal: return reference == texel;
    case CompareFunction::not_equal: return reference != texel;
    case CompareFunction::always: return true;
    default: return false;
  }
}

}  // namespace mb

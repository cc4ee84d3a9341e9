// Texels in memory: conversion between pixel formats and kernel types.
#pragma once

#include "texel_packed.h"
#include "texel_checked.h"

// Checked builds report texels by name instead of each load.
#if MB_CHECKED
#define MB_TEXEL [[gnu::noinline]] MB_UNTRACED
#define MB_LOOKUP MB_TEXEL static
#else
#define MB_TEXEL MB_FUNC
// Long functions, so clang decides: inlined for a single call or a constant sampler.
#define MB_LOOKUP static inline
#endif

namespace mb {

using metal::vec;

// Type of texels in computations: float, int or uint.
template <class T>
using texel_of = typename conditional<is_float<T>, float,
                                      typename conditional<is_signed<T>, int, u32>::type>::type;

template <class Raw>
struct Normalised {
  using Stored = Raw;
  static constexpr bool has_sign = is_signed<Raw>;
  static constexpr int most = has_sign ? (1 << (8 * sizeof(Raw) - 1)) - 1 : int(Raw(-1));

  MB_FUNC static float load(Raw raw) {
    float value = static_cast<float>(raw * (1.0 / static_cast<double>(most)));
    return has_sign && value < -1 ? -1 : value;
  }
  MB_FUNC static Raw store(float value) {
    constexpr float least = has_sign ? -1 : 0;
    value = value > least ? value : value <= least ? least : 0;  // NaN is 0
    value = value < 1 ? value : 1;
    return static_cast<Raw>(static_cast<int>(__builtin_rintf(value * static_cast<float>(most))));
  }
};

template <class Raw>
struct Floating {
  using Stored = Raw;
  MB_FUNC static float load(Raw raw) { return static_cast<float>(raw); }
  MB_FUNC static Raw store(float value) { return static_cast<Raw>(value); }
};

// Saturating conversion.
template <class Raw>
struct Whole {
  using Stored = Raw;
  template <class W>
  MB_FUNC static Raw store(W value) {
    if constexpr (sizeof(Raw) < sizeof(W)) {
      constexpr W most = is_signed<Raw> ? (W(1) << (8 * sizeof(Raw) - 1)) - 1 : W(Raw(-1));
      constexpr W least = is_signed<Raw> ? -most - 1 : W(0);
      value = value > most ? most : value < least ? least : value;
    }
    return static_cast<Raw>(value);
  }
  MB_FUNC static auto load(Raw raw) {
    return static_cast<typename conditional<is_signed<Raw>, int, u32>::type>(raw);
  }
};

// Call `body` with the codec of a channel, of those that a texture of type W can have.
template <class W, class Body>
MB_FUNC void with_codec(Channel channel, Body body) {
  if constexpr (__is_same(W, float)) {
    switch (channel) {
      case Channel::unorm8: return body(Normalised<u8>());
      case Channel::snorm8: return body(Normalised<signed char>());
      case Channel::unorm16: return body(Normalised<u16>());
      case Channel::snorm16: return body(Normalised<short>());
      case Channel::float16: return body(Floating<half>());
      default: return body(Floating<float>());
    }
  } else if constexpr (__is_same(W, int)) {
    switch (channel) {
      case Channel::sint8: return body(Whole<signed char>());
      case Channel::sint16: return body(Whole<short>());
      default: return body(Whole<int>());
    }
  } else {
    switch (channel) {
      case Channel::uint8: return body(Whole<u8>());
      case Channel::uint16: return body(Whole<u16>());
      default: return body(Whole<u32>());
    }
  }
}

template <class Raw>
MB_FUNC Raw raw_at(const u8* at, u32 component) {
  Raw raw;
  __builtin_memcpy(&raw, at + component * sizeof(Raw), sizeof(Raw));
  return raw;
}
template <class Raw>
MB_FUNC void put_raw(u8* at, u32 component, Raw raw) {
  __builtin_memcpy(at + component * sizeof(Raw), &raw, sizeof(Raw));
}

// Components that the format lacks are 0, and alpha is 1.
template <class W>
MB_FUNC vec<W, 4> load_texel(const Texture& t, const u8* at) {
  vec<W, 4> result(0, 0, 0, 1);
  if (t.channel > Channel::float32) result = load_rare<W>(t, at);
  else with_codec<W>(t.channel, [&](auto codec) __attribute__((always_inline)) {
    using Codec = decltype(codec);
    using Raw = typename Codec::Stored;
    result.x = Codec::load(raw_at<Raw>(at, 0));
    if (t.channels > 1) result.y = Codec::load(raw_at<Raw>(at, 1));
    if (t.channels > 2) {
      result.z = Codec::load(raw_at<Raw>(at, 2));
      result.w = Codec::load(raw_at<Raw>(at, 3));
    }
  });
  if (t.bgra) return vec<W, 4>(result.z, result.y, result.x, result.w);
  return result;
}

template <class W>
MB_FUNC void store_texel(const Texture& t, u8* at, vec<W, 4> value) {
  if (t.bgra) value = vec<W, 4>(value.z, value.y, value.x, value.w);
  if (t.channel > Channel::float32) return store_rare<W>(t, at, value);
  with_codec<W>(t.channel, [&](auto codec) __attribute__((always_inline)) {
    using Codec = decltype(codec);
    put_raw(at, 0, Codec::store(value.x));
    if (t.channels > 1) put_raw(at, 1, Codec::store(value.y));
    if (t.channels > 2) {
      put_raw(at, 2, Codec::store(value.z));
      put_raw(at, 3, Codec::store(value.w));
    }
  });
}

MB_FUNC u8* address_of(const TextureLevel& level, u32 x, u32 y, u32 z) {
  return level.data + z * level.slice_bytes + y * level.row_bytes + u64(x) * level.texel_bytes;
}
MB_FUNC bool inside(const Texture* t, u32 x, u32 y, u32 z, u32 lod) {
  if (t == nullptr || lod >= t->level_count) return false;
  const TextureLevel& level = level_of(*t, lod);
  return x < level.width && y < level.height && z < level.slices;
}

// Outside of a texture, reads return 0 and writes have no effect.
template <class W>
MB_TEXEL vec<W, 4> read_texel(const Texture* t, u32 x, u32 y, u32 z, u32 lod) {
  if (!inside(t, x, y, z, lod)) {
    MB_OUTSIDE(t, x, y, z, lod, false);
    return vec<W, 4>(0);
  }
  u8* at = address_of(level_of(*t, lod), x, y, z);
  MB_TEXEL_ACCESS(at, t->base.texel_bytes, read);
  return load_texel<W>(*t, at);
}
template <class W>
MB_TEXEL void write_texel(const Texture* t, vec<W, 4> value, u32 x, u32 y, u32 z, u32 lod) {
  if (!inside(t, x, y, z, lod)) {
    MB_OUTSIDE(t, x, y, z, lod, true);
    return;
  }
  u8* at = address_of(level_of(*t, lod), x, y, z);
  MB_TEXEL_ACCESS(at, t->base.texel_bytes, write);
  store_texel<W>(*t, at, value);
}

// Return width, height or slices of a level.
template <u32 TextureLevel::* size>
MB_TEXEL u32 size_of_level(const Texture* t, u32 lod) {
  return t != nullptr && lod < t->level_count ? level_of(*t, lod).*size : 0;
}
MB_TEXEL static u32 level_count(const Texture* t) { return t == nullptr ? 0 : t->level_count; }

}  // namespace mb

// Packed texels: several components in one number, and colours in sRGB.
#pragma once

#include "power.h"
#include "sync.h"

// Rare and long, so not inlined: loops over other formats stay small.
#define MB_RARE_TEXEL [[gnu::noinline]] MB_UNTRACED static

namespace mb {

using metal::vec;

MB_FUNC float from_srgb(float c) {
  return c <= 0.04045f ? c / 12.92f : powr_of((c + 0.055f) / 1.055f, 2.4f);
}
MB_FUNC float to_srgb(float c) {
  if (!(c > 0)) return 0;
  return c <= 0.0031308f ? c * 12.92f : 1.055f * powr_of(c < 1 ? c : 1, 1 / 2.4f) - 0.055f;
}

// Convert a value from 0 to 1 to an integer of `bits` bits.
MB_FUNC u32 fraction(float value, u32 bits) {
  const float most = static_cast<float>((1u << bits) - 1);
  value = value > 0 ? value : 0;  // NaN is 0
  return static_cast<u32>(__builtin_rintf((value < 1 ? value : 1) * most));
}

// Unsigned floats with 5 exponent bits and `mantissa` mantissa bits: the upper part of a half.
MB_FUNC float from_small_float(u32 bits, u32 mantissa) {
  return static_cast<float>(as_type<half>(static_cast<u16>(bits << (10 - mantissa))));
}
MB_FUNC u32 to_small_float(float value, u32 mantissa) {
  const u32 dropped = 10 - mantissa, infinite = 31u << mantissa;
  if (value != value) return infinite | 1;
  if (!(value > 0)) return 0;
  const u32 all = as_type<u16>(static_cast<half>(value));
  const u32 rounded = (all + (1u << (dropped - 1)) - 1 + (all >> dropped & 1)) >> dropped;
  // Finite values stay finite.
  return rounded >= infinite && value < __builtin_inff() ? infinite - 1 : rounded;
}

// Three numbers of 9 bits with one exponent.
MB_FUNC vec<float, 4> from_shared_exponent(u32 raw) {
  const float scale = as_type<float>(((raw >> 27) - 24 + 127) << 23);
  return vec<float, 4>(scale * float(raw & 511), scale * float(raw >> 9 & 511),
                       scale * float(raw >> 18 & 511), 1);
}
MB_FUNC u32 to_shared_exponent(vec<float, 4> value) {
  float c[3] = {value.x, value.y, value.z}, most = 0;
  for (float& each : c) {
    each = each > 0 ? each : 0;
    each = each < 65408 ? each : 65408;
    most = each > most ? each : most;
  }
  int exponent = (as_type<int>(most) >> 23) - 127;
  exponent = exponent < -16 ? 0 : exponent + 16;
  float scale = as_type<float>((24 - exponent + 127) << 23);
  if (__builtin_rintf(most * scale) == 512) ++exponent, scale *= 0.5f;
  u32 raw = u32(exponent) << 27;
  for (int i = 0; i < 3; ++i) raw |= u32(__builtin_rintf(c[i] * scale)) << (9 * i);
  return raw;
}

// Widths of red, green, blue and alpha in bits, and their positions.
struct Fields {
  u8 bits[4], shift[4];
};
MB_FUNC Fields fields_of(Channel channel) {
  switch (channel) {
    case Channel::b5g6r5_unorm: return {{5, 6, 5, 0}, {11, 5, 0, 0}};
    case Channel::a1bgr5_unorm: return {{5, 5, 5, 1}, {11, 6, 1, 0}};
    case Channel::abgr4_unorm: return {{4, 4, 4, 4}, {12, 8, 4, 0}};
    case Channel::bgr5a1_unorm: return {{5, 5, 5, 1}, {10, 5, 0, 15}};
    case Channel::bgr10a2_unorm: return {{10, 10, 10, 2}, {20, 10, 0, 30}};
    default: return {{10, 10, 10, 2}, {0, 10, 20, 30}};
  }
}

template <class W>
MB_RARE_TEXEL vec<W, 4> load_packed(Channel channel, u32 raw) {
  const Fields fields = fields_of(channel);
  W c[4] = {0, 0, 0, 1};
  if constexpr (__is_same(W, float)) {
    if (channel == Channel::rgb9e5_float) return from_shared_exponent(raw);
    if (channel == Channel::rg11b10_float) {
      return vec<W, 4>(from_small_float(raw & 2047, 6), from_small_float(raw >> 11 & 2047, 6),
                       from_small_float(raw >> 22, 5), 1);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const u32 most = (1u << fields.bits[i]) - 1;
    if (most != 0) c[i] = static_cast<W>(raw >> fields.shift[i] & most);
    if (most != 0 && __is_same(W, float)) c[i] /= static_cast<W>(most);
  }
  return vec<W, 4>(c[0], c[1], c[2], c[3]);
}

template <class W>
MB_RARE_TEXEL u32 store_packed(Channel channel, vec<W, 4> value) {
  const Fields fields = fields_of(channel);
  const W c[4] = {value.x, value.y, value.z, value.w};
  if constexpr (__is_same(W, float)) {
    if (channel == Channel::rgb9e5_float) return to_shared_exponent(value);
    if (channel == Channel::rg11b10_float) {
      return to_small_float(value.x, 6) | to_small_float(value.y, 6) << 11 |
             to_small_float(value.z, 5) << 22;
    }
  }
  u32 raw = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 most = (1u << fields.bits[i]) - 1;
    u32 stored = 0;
    if constexpr (__is_same(W, float)) stored = fraction(c[i], fields.bits[i]);
    else stored = u32(c[i]) < most ? u32(c[i]) : most;
    raw |= stored << fields.shift[i];
  }
  return raw;
}

MB_RARE_TEXEL vec<float, 4> load_srgb(const u8* at, u32 channels) {
  vec<float, 4> c(0, 0, 0, 1);
  c.x = from_srgb(at[0] / 255.0f);
  if (channels > 1) c.y = from_srgb(at[1] / 255.0f);
  if (channels > 2) c.z = from_srgb(at[2] / 255.0f), c.w = at[3] / 255.0f;
  return c;
}
MB_RARE_TEXEL void store_srgb(u8* at, u32 channels, vec<float, 4> value) {
  at[0] = u8(fraction(to_srgb(value.x), 8));
  if (channels > 1) at[1] = u8(fraction(to_srgb(value.y), 8));
  if (channels > 2) at[2] = u8(fraction(to_srgb(value.z), 8)), at[3] = u8(fraction(value.w, 8));
}

// Codec of a packed format, as stored; colours in the order of the format.
template <class W>
MB_FUNC vec<W, 4> load_rare(const Texture& t, const u8* at) {
  if constexpr (__is_same(W, float)) {
    if (t.channel == Channel::unorm8_srgb) return load_srgb(at, t.channels);
  }
  u32 raw = 0;
  __builtin_memcpy(&raw, at, t.base.texel_bytes == 2 ? 2 : 4);
  return load_packed<W>(t.channel, raw);
}
template <class W>
MB_FUNC void store_rare(const Texture& t, u8* at, vec<W, 4> value) {
  if constexpr (__is_same(W, float)) {
    if (t.channel == Channel::unorm8_srgb) return store_srgb(at, t.channels, value);
  }
  const u32 raw = store_packed<W>(t.channel, value);
  __builtin_memcpy(at, &raw, t.base.texel_bytes == 2 ? 2 : 4);
}

}  // namespace mb

#undef MB_RARE_TEXEL

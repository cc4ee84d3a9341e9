// Packing of normalised values into integers, and back.
#pragma once

#include "math.h"
#include "names.h"
#include "relational.h"

namespace mb {

// round(clamp(x) scale), ties to even; NaN becomes zero.
template <class V>
MB_FUNC V normalised(V x, float low, float scale) {
  x = metal::select(x, V(0.0f), metal::isnan(x));
  return metal::rint(metal::clamp(x, low, 1.0f) * scale);
}

template <int bits, class V>
MB_FUNC uint joined(V v) {
  uint result = 0;
  for (int i = element_of<V>::count; i-- > 0;) {
    result = result << (bits % 32) | (uint(int(v[i])) & ((1u << bits) - 1));
  }
  return result;
}
template <int bits, int N, bool is_signed>
MB_FUNC vec<float, N> parted(uint x) {
  vec<float, N> v = 0.0f;
  for (int i = 0; i < N; ++i) {
    uint part = x >> (i * bits) << (32 - bits);
    v[i] = is_signed ? float(int(part) >> (32 - bits)) : float(part >> (32 - bits));
  }
  return v;
}

// Transfer function of sRGB and its inverse.
template <class = void>
MB_FUNC float to_srgb(float x) {
  return x < 0.0031308f ? 12.92f * x : 1.055f * pow_of(x, 1.0f / 2.4f) - 0.055f;
}
template <class = void>
MB_FUNC float from_srgb(float x) {
  return x <= 0.04045f ? x / 12.92f : pow_of((x + 0.055f) / 1.055f, 2.4f);
}
template <class = void>
MB_FUNC vec<float, 4> srgb(vec<float, 4> v, float (*f)(float)) {
  return vec<float, 4>(f(v.x), f(v.y), f(v.z), v.w);
}

}  // namespace mb

// Instantiated only on use.
#define MB_LAZY template <class = void>

namespace metal {

MB_LAZY MB_FUNC uint pack_float_to_unorm4x8(float4 x) {
  return mb::joined<8>(mb::normalised(x, 0.0f, 255.0f));
}
MB_LAZY MB_FUNC uint pack_float_to_snorm4x8(float4 x) {
  return mb::joined<8>(mb::normalised(x, -1.0f, 127.0f));
}
MB_LAZY MB_FUNC uint pack_float_to_unorm2x16(float2 x) {
  return mb::joined<16>(mb::normalised(x, 0.0f, 65535.0f));
}
MB_LAZY MB_FUNC uint pack_float_to_snorm2x16(float2 x) {
  return mb::joined<16>(mb::normalised(x, -1.0f, 32767.0f));
}
MB_LAZY MB_FUNC uint pack_half_to_unorm4x8(half4 x) { return pack_float_to_unorm4x8(float4(x)); }
MB_LAZY MB_FUNC uint pack_half_to_snorm4x8(half4 x) { return pack_float_to_snorm4x8(float4(x)); }
MB_LAZY MB_FUNC uint pack_half_to_unorm2x16(half2 x) { return pack_float_to_unorm2x16(float2(x)); }
MB_LAZY MB_FUNC uint pack_half_to_snorm2x16(half2 x) { return pack_float_to_snorm2x16(float2(x)); }
MB_LAZY MB_FUNC uint pack_float_to_unorm10a2(float4 x) {
  uint rgb = mb::joined<10>(mb::normalised(float3(x.x, x.y, x.z), 0.0f, 1023.0f));
  return rgb | uint(mb::normalised(x.w, 0.0f, 3.0f)) << 30;
}
// The first component is in the lowest bits, as in every other format.
MB_LAZY MB_FUNC ushort pack_float_to_unorm565(float3 x) {
  float2 ends = mb::normalised(float2(x.x, x.z), 0.0f, 31.0f);
  return ushort(uint(ends.x) | uint(mb::normalised(x.y, 0.0f, 63.0f)) << 5 | uint(ends.y) << 11);
}
MB_LAZY MB_FUNC uint pack_float_to_srgb_unorm4x8(float4 x) {
  return pack_float_to_unorm4x8(mb::srgb(clamp(x, 0.0f, 1.0f), mb::to_srgb<>));
}
MB_LAZY MB_FUNC uint pack_half_to_srgb_unorm4x8(half4 x) {
  return pack_float_to_srgb_unorm4x8(float4(x));
}
MB_LAZY MB_FUNC uint pack_half_to_unorm10a2(half4 x) { return pack_float_to_unorm10a2(float4(x)); }
MB_LAZY MB_FUNC ushort pack_half_to_unorm565(half3 x) { return pack_float_to_unorm565(float3(x)); }

MB_LAZY MB_FUNC float4 unpack_unorm4x8_to_float(uint x) {
  return mb::parted<8, 4, false>(x) / 255.0f;
}
MB_LAZY MB_FUNC float4 unpack_snorm4x8_to_float(uint x) {
  return max(mb::parted<8, 4, true>(x) / 127.0f, -1.0f);
}
MB_LAZY MB_FUNC float2 unpack_unorm2x16_to_float(uint x) {
  return mb::parted<16, 2, false>(x) / 65535.0f;
}
MB_LAZY MB_FUNC float2 unpack_snorm2x16_to_float(uint x) {
  return max(mb::parted<16, 2, true>(x) / 32767.0f, -1.0f);
}
MB_LAZY MB_FUNC half4 unpack_unorm4x8_to_half(uint x) { return half4(unpack_unorm4x8_to_float(x)); }
MB_LAZY MB_FUNC half4 unpack_snorm4x8_to_half(uint x) { return half4(unpack_snorm4x8_to_float(x)); }
MB_LAZY MB_FUNC half2 unpack_unorm2x16_to_half(uint x) {
  return half2(unpack_unorm2x16_to_float(x));
}
MB_LAZY MB_FUNC half2 unpack_snorm2x16_to_half(uint x) {
  return half2(unpack_snorm2x16_to_float(x));
}
MB_LAZY MB_FUNC float4 unpack_unorm10a2_to_float(uint x) {
  return float4(mb::parted<10, 3, false>(x) / 1023.0f, float(x >> 30) / 3.0f);
}
MB_LAZY MB_FUNC float3 unpack_unorm565_to_float(ushort x) {
  return float3(float(x & 31) / 31.0f, float(x >> 5 & 63) / 63.0f, float(x >> 11) / 31.0f);
}
MB_LAZY MB_FUNC float4 unpack_unorm4x8_srgb_to_float(uint x) {
  return mb::srgb(unpack_unorm4x8_to_float(x), mb::from_srgb<>);
}
MB_LAZY MB_FUNC half4 unpack_unorm4x8_srgb_to_half(uint x) {
  return half4(unpack_unorm4x8_srgb_to_float(x));
}
MB_LAZY MB_FUNC half4 unpack_unorm10a2_to_half(uint x) {
  return half4(unpack_unorm10a2_to_float(x));
}
MB_LAZY MB_FUNC half3 unpack_unorm565_to_half(ushort x) {
  return half3(unpack_unorm565_to_float(x));
}

#undef MB_LAZY

}  // namespace metal

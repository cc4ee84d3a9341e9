// Scalar types, literals and conversions.
#pragma once

#include "abi.h"
#include "spaces.h"

#define MB_FUNC [[gnu::always_inline]] inline
#ifndef MB_COUNTED
#define MB_COUNTED 0
#endif
#ifndef MB_CHECKED
#define MB_CHECKED 0
#endif
#ifndef MB_SHADOW
#define MB_SHADOW 0
#endif
#ifndef MB_ZONES
#define MB_ZONES 0
#endif
#ifndef MB_VECTOR
#define MB_VECTOR 0
#endif
#ifndef MB_FAST_MATH
#define MB_FAST_MATH 1
#endif
// Whether a product and a sum can be fused into one instruction.
#if defined(__FMA__) || defined(__aarch64__) || MB_GPU
#define MB_FUSES 1
#else
#define MB_FUSES 0
#endif

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using bfloat = __bf16;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = decltype(sizeof 0);
using ptrdiff_t = long;
using intptr_t = long;
using uintptr_t = unsigned long;

// Literals 1.0h and 0h are standard C++; clang accepts `bf` only with an underscore: 5.0_bf.
constexpr half operator""h(long double v) { return static_cast<half>(v); }
constexpr half operator""h(unsigned long long v) { return static_cast<half>(v); }
constexpr half operator""_h(long double v) { return static_cast<half>(v); }
constexpr half operator""_h(unsigned long long v) { return static_cast<half>(v); }
constexpr bfloat operator""_bf(long double v) { return static_cast<bfloat>(v); }
constexpr bfloat operator""_bf(unsigned long long v) {
  return static_cast<bfloat>(static_cast<float>(v));
}

// Reinterpret bits as another type of the same size.
template <class To, class From>
MB_FUNC constexpr To as_type(From from) {
  return __builtin_bit_cast(To, from);
}

namespace mb {

// A type without reference, qualifiers and address space.
template <class T>
using bare = unspaced<__remove_cvref(T)>;

template <bool, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};

template <bool, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};

// Excludes a parameter from deduction.
template <class T>
struct identity {
  using type = T;
};
template <class T>
using same = typename identity<T>::type;

template <class T>
inline constexpr bool is_half_float = __is_same(T, half) || __is_same(T, bfloat);
template <class T>
inline constexpr bool is_float = is_half_float<T> || __is_same(T, float) || __is_same(T, double);
template <class T>
inline constexpr bool is_int = __is_integral(T);
template <class T>
inline constexpr bool is_signed = T(-1) < T(0);

// static_cast that also converts between half and bfloat, which clang rejects. The front end writes
// mb::cast<T>(x) for static_cast<T>(x) in sources that use both.
template <class To, class From>
MB_FUNC constexpr To cast(From&& from) {
  if constexpr (is_half_float<To> && is_half_float<bare<From>> && !__is_same(To, bare<From>)) {
    return static_cast<To>(static_cast<float>(from));
  } else {
    return static_cast<To>(static_cast<From&&>(from));
  }
}

// Scalar conversion T(x) in vector constructors.
template <class To, class From>
MB_FUNC constexpr To convert(From from) {
  if constexpr (is_half_float<To> && is_half_float<From>) {
    return static_cast<To>(static_cast<float>(from));
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace mb

#if defined(__x86_64__) && !defined(__AVX512BF16__)
// Clang calls this function to round a float to bfloat; a kernel's shared object has no other
// definition.
extern "C" [[gnu::used, gnu::weak, gnu::visibility("hidden")]] MB_EMITTED bfloat __truncsfbf2(float value) {
  unsigned bits = __builtin_bit_cast(unsigned, value);
  unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  unsigned quiet = bits >> 16 | 0x40;
  unsigned result = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
  return __builtin_bit_cast(bfloat, static_cast<unsigned short>(result));
}
#endif

// Integer functions, and abs for every type.
#pragma once

#include "lift.h"

namespace mb {

template <class T>
struct unsigned_of_size;
template <>
struct unsigned_of_size<char[1]> {
  using type = uchar;
};
template <>
struct unsigned_of_size<char[2]> {
  using type = ushort;
};
template <>
struct unsigned_of_size<char[4]> {
  using type = uint;
};
template <>
struct unsigned_of_size<char[8]> {
  using type = ulong;
};
template <class T>
using unsigned_type = typename unsigned_of_size<char[sizeof(T)]>::type;

template <class T>
inline constexpr int width = 8 * sizeof(T);
// Twice as wide, for results that must not overflow.
template <class T>
using wider = typename conditional<
    is_signed<T>, typename conditional<sizeof(T) == 8, __int128, long>::type,
    typename conditional<sizeof(T) == 8, unsigned __int128, ulong>::type>::type;
// Signed and wide enough for any sum.
template <class T>
using exact = typename conditional<sizeof(T) == 8, __int128, long>::type;

template <class T>
inline constexpr T most = is_signed<T> ? T(unsigned_type<T>(-1) >> 1) : T(-1);
template <class T>
inline constexpr T least_of = is_signed<T> ? T(unsigned_type<T>(1) << (width<T> - 1)) : T(0);

template <class T>
MB_FUNC constexpr T saturated(exact<T> v) {
  return v > exact<T>(most<T>) ? most<T> : v < exact<T>(least_of<T>) ? least_of<T> : T(v);
}

template <class T>
MB_FUNC constexpr T abs_of(T x) {
  if constexpr (__is_same(T, float)) return __builtin_fabsf(x);
  else if constexpr (is_float<T>) return T(__builtin_fabsf(float(x)));
  else return x < T(0) ? T(-x) : x;
}
template <class T>
MB_FUNC constexpr int clz_of(T x) {
  return x == 0 ? width<T> : __builtin_clzll(unsigned_type<T>(x)) - (64 - width<T>);
}
template <class T>
MB_FUNC constexpr int ctz_of(T x) {
  return x == 0 ? width<T> : __builtin_ctzll(unsigned_type<T>(x));
}
template <class T>
MB_FUNC constexpr T reverse_of(T x) {
  if constexpr (sizeof(T) == 1) return __builtin_bitreverse8(x);
  else if constexpr (sizeof(T) == 2) return __builtin_bitreverse16(x);
  else if constexpr (sizeof(T) == 4) return __builtin_bitreverse32(x);
  else return __builtin_bitreverse64(x);
}
template <class T>
MB_FUNC constexpr T rotate_of(T x, T by) {
  using U = unsigned_type<T>;
  U n = U(by) % width<T>, u = U(x);
  return T(n ? U(u << n) | U(u >> (width<T> - n)) : u);
}
template <class T>
MB_FUNC constexpr T mask_of(uint bits) {
  return bits >= uint(width<T>) ? T(-1) : T((unsigned_type<T>(1) << bits) - 1);
}
// Extract `bits` bits from `offset`; bits of a signed type are sign-extended.
template <class T>
MB_FUNC constexpr T extract_of(T x, uint offset, uint bits) {
  if (bits == 0 || offset >= uint(width<T>)) return T(0);
  if (bits > width<T> - offset) bits = width<T> - offset;
  return T(T(unsigned_type<T>(x) << (width<T> - offset - bits)) >> (width<T> - bits));
}
template <class T>
MB_FUNC constexpr T insert_of(T base, T insert, uint offset, uint bits) {
  if (offset >= uint(width<T>)) return base;
  T mask = T(unsigned_type<T>(mask_of<T>(bits)) << offset);
  return T((base & ~mask) | (T(unsigned_type<T>(insert) << offset) & mask));
}

}  // namespace mb

namespace metal {

MB_MAP1(abs, mb::arg, mb::abs_of(x))
MB_MAP1(clz, mb::integral, mb::clz_of(x))
MB_MAP1(ctz, mb::integral, mb::ctz_of(x))
MB_MAP1(popcount, mb::integral, __builtin_popcountll(mb::unsigned_type<T>(x)))
MB_MAP1(reverse_bits, mb::integral, mb::reverse_of(x))
MB_MAP2(rotate, mb::join, mb::rotate_of<T>(x, y))
MB_MAP2(addsat, mb::join, mb::saturated<T>(mb::exact<T>(x) + y))
MB_MAP2(subsat, mb::join, mb::saturated<T>(mb::exact<T>(x) - y))
MB_MAP2(hadd, mb::join, (mb::exact<T>(x) + y) >> 1)
MB_MAP2(rhadd, mb::join, (mb::exact<T>(x) + y + 1) >> 1)
MB_MAP2(mulhi, mb::join, (mb::wider<T>(x) * y) >> mb::width<T>)
MB_MAP3(madhi, mb::join3, T((mb::wider<T>(x) * y) >> mb::width<T>) + mb::unsigned_type<T>(z))
MB_MAP2(mul24, mb::join, mb::unsigned_type<T>(x) * mb::unsigned_type<T>(y))
MB_MAP3(mad24, mb::join3,
        mb::unsigned_type<T>(x) * mb::unsigned_type<T>(y) + mb::unsigned_type<T>(z))

// x y + z in 64 or 128 bits: a product of 64-bit operands can overflow 64 bits, by one bit.
template <class A, class B, class C, class R = mb::join3<A, B, C>>
MB_FUNC constexpr R madsat(A a, B b, C c) {
  return mb::map(
      MB_LAMBDA3 {
        using T = decltype(x);
        mb::wider<T> sum;
        bool over = __builtin_mul_overflow(mb::wider<T>(x), mb::wider<T>(y), &sum) |
                    __builtin_add_overflow(sum, mb::wider<T>(z), &sum);
        bool high = over || sum > mb::wider<T>(mb::most<T>);
        return high ? mb::most<T> : sum < mb::wider<T>(mb::least_of<T>) ? mb::least_of<T> : T(sum);
      },
      mb::lift<R>(a), mb::lift<R>(b), mb::lift<R>(c));
}

template <class A, class B, class V = mb::join<A, B>,
          class R = mb::rebind<V, mb::unsigned_type<mb::element<V>>>>
MB_FUNC constexpr R absdiff(A a, B b) {
  return mb::map(
      MB_LAMBDA2 {
        using U = mb::unsigned_type<decltype(x)>;
        return x > y ? U(U(x) - U(y)) : U(U(y) - U(x));
      },
      mb::lift<V>(a), mb::lift<V>(b));
}
template <class A, class R = mb::arg<A>>
MB_FUNC constexpr R extract_bits(A a, uint offset, uint bits) {
  return mb::map([=](auto x) { return mb::extract_of(x, offset, bits); }, mb::lift<R>(a));
}
template <class A, class B, class R = mb::join<A, B>>
MB_FUNC constexpr R insert_bits(A base, B insert, uint offset, uint bits) {
  return mb::map([=](auto x, auto y) { return mb::insert_of(x, y, offset, bits); },
                 mb::lift<R>(base), mb::lift<R>(insert));
}

}  // namespace metal

// Operators of vec and packed_vec: component-wise, a scalar operand is splatted.
#pragma once

#include "scalar.h"

namespace metal {

// A size is the bound of an array type. It is deduced for any integer type of a template parameter:
// `template <typename T, uint N> T f(vec<T, N> v)`.
template <class T, class Size>
struct mb_vec;
template <class T, class Size>
struct mb_packed_vec;

template <class T, int N>
using vec = mb_vec<T, char[N]>;
template <class T, int N>
using packed_vec = mb_packed_vec<T, char[N]>;

}  // namespace metal

namespace mb {

using metal::packed_vec;
using metal::vec;

// Base class of the vectors, so that argument-dependent lookup finds non-template friends: only
// such friends convert a scalar operand.
namespace types {
template <class T, int N>
struct vec_operators {
  using V = vec<T, N>;
  using B = vec<bool, N>;

#define MB_LOGICAL(op, R)                                                    \
  MB_FUNC friend constexpr R operator op(V a, V b) {                         \
    if constexpr (N == 2) return R(a.x op b.x, a.y op b.y);                  \
    else if constexpr (N == 3) return R(a.x op b.x, a.y op b.y, a.z op b.z); \
    else return R(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w);           \
  }
#define MB_ARITHMETIC(op)                                                             \
  MB_FUNC friend constexpr V operator op(V a, V b) {                                  \
    if constexpr (N == 2) return V(T(a.x op b.x), T(a.y op b.y));                     \
    else if constexpr (N == 3) return V(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)); \
    else return V(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w));        \
  }                                                                                   \
  MB_FUNC friend constexpr V& operator op## = (V & a, V b) { return a = a op b; }
#define MB_UNARY(op, R)                                                   \
  MB_FUNC friend constexpr R operator op(V a) {                           \
    using E = decltype(R::x);                                             \
    if constexpr (N == 2) return R(E(op a.x), E(op a.y));                 \
    else if constexpr (N == 3) return R(E(op a.x), E(op a.y), E(op a.z)); \
    else return R(E(op a.x), E(op a.y), E(op a.z), E(op a.w));            \
  }
  MB_ARITHMETIC(+)
  MB_ARITHMETIC(-)
  MB_ARITHMETIC(*)
  MB_ARITHMETIC(/)
  MB_ARITHMETIC(%)
  MB_ARITHMETIC(&)
  MB_ARITHMETIC(|)
  MB_ARITHMETIC(^)
  MB_ARITHMETIC(<<)
  MB_ARITHMETIC(>>)
  MB_LOGICAL(==, B)
  MB_LOGICAL(!=, B)
  MB_LOGICAL(<, B)
  MB_LOGICAL(<=, B)
  MB_LOGICAL(>, B)
  MB_LOGICAL(>=, B)
  MB_LOGICAL(&&, B)
  MB_LOGICAL(||, B)
  MB_UNARY(-, V)
  MB_UNARY(+, V)
  MB_UNARY(~, V)
  MB_UNARY(!, B)
  // The shift count may have another integer type: int2 << uint2.
#define MB_SHIFT(op)                                                                  \
  template <class U, class = typename enable_if<is_int<U> && !__is_same(U, T)>::type> \
  MB_FUNC friend constexpr V operator op(V a, vec<U, N> b) {                          \
    if constexpr (N == 2) return V(T(a.x op b.x), T(a.y op b.y));                     \
    else if constexpr (N == 3) return V(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)); \
    else return V(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w));        \
  }                                                                                   \
  template <class U, class = typename enable_if<is_int<U> && !__is_same(U, T)>::type> \
  MB_FUNC friend constexpr V& operator op## = (V & a, vec<U, N> b) { return a = a op b; }
  MB_SHIFT(<<)
  MB_SHIFT(>>)
#undef MB_SHIFT
#undef MB_LOGICAL
#undef MB_ARITHMETIC
#undef MB_UNARY

  MB_FUNC friend constexpr V& operator++(V& a) { return a = a + V(T(1)); }
  MB_FUNC friend constexpr V& operator--(V& a) { return a = a - V(T(1)); }
  MB_FUNC friend constexpr V operator++(V& a, int) {
    V before = a;
    a = a + V(T(1));
    return before;
  }
  MB_FUNC friend constexpr V operator--(V& a, int) {
    V before = a;
    a = a - V(T(1));
    return before;
  }
};
}  // namespace types

using namespace types;

}  // namespace mb

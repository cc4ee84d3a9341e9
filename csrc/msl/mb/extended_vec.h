// vec<T, N> with more than four elements, which have no names.
#pragma once

#include "vec.h"

namespace metal {

template <class T, int N>
struct mb_vec<T, char[N]> {
  static_assert(N > 4 && N <= 16, "a vector has 2 to 16 elements");
  T mb_elements[N];

  mb_vec() = default;
  MB_FUNC constexpr mb_vec(T v) {
    for (int i = 0; i < N; ++i) mb_elements[i] = v;
  }
  template <class... E, class = typename mb::enable_if<sizeof...(E) == N - 2>::type>
  MB_FUNC constexpr mb_vec(T a, T b, E... rest) : mb_elements{a, b, mb::convert<T>(rest)...} {}
  template <class U, class = typename mb::enable_if<!__is_same(U, T)>::type>
  MB_FUNC constexpr explicit mb_vec(const vec<U, N>& v) {
    for (int i = 0; i < N; ++i) mb_elements[i] = mb::convert<T>(v[i]);
  }

  MB_ACCESSOR(auto&, operator[], self.mb_elements[MB_SUBSCRIPT(i, N, "a vector")], unsigned long i)

  // Operators of a source may be templates: those with a scalar must match exactly, too.
#define MB_EXTENDED(op)                                                                          \
  MB_FUNC friend constexpr mb_vec operator op(const mb_vec& a, const mb_vec& b) {                \
    mb_vec result{};                                                                             \
    for (int i = 0; i < N; ++i) result.mb_elements[i] = T(a.mb_elements[i] op b.mb_elements[i]); \
    return result;                                                                               \
  }                                                                                              \
  MB_FUNC friend constexpr mb_vec operator op(const mb_vec& a, T b) { return a op mb_vec(b); }   \
  MB_FUNC friend constexpr mb_vec operator op(T a, const mb_vec& b) { return mb_vec(a) op b; }   \
  MB_FUNC constexpr mb_vec& operator op## = (const mb_vec& b) { return *this = *this op b; }
  MB_EXTENDED(+)
  MB_EXTENDED(-)
  MB_EXTENDED(*)
  MB_EXTENDED(/)
#undef MB_EXTENDED
  MB_FUNC friend constexpr mb_vec operator-(const mb_vec& a) {
    mb_vec result{};
    for (int i = 0; i < N; ++i) result.mb_elements[i] = T(-a.mb_elements[i]);
    return result;
  }
};

}  // namespace metal

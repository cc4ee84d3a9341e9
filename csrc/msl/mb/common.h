// Common functions: min, max, clamp, mix, ...
#pragma once

#include "lift.h"

namespace mb {

// If one of two is NaN, return the other.
template <class T>
MB_FUNC constexpr T smaller(T a, T b) {
  if constexpr (__is_same(T, float)) return __builtin_fminf(a, b);
  else if constexpr (is_float<T>) return a < b || b != b ? a : b;
  else return b < a ? b : a;
}
template <class T>
MB_FUNC constexpr T larger(T a, T b) {
  if constexpr (__is_same(T, float)) return __builtin_fmaxf(a, b);
  else if constexpr (is_float<T>) return b < a || b != b ? a : b;
  else return a < b ? b : a;
}
template <class T>
MB_FUNC constexpr T clamped(T x, T low, T high) {
  return smaller(larger(x, low), high);
}
template <class T>
MB_FUNC constexpr T sign_of(T x) {
  if (x != x) return T(0);
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T>
MB_FUNC constexpr T hermite(T low, T high, T x) {
  T t = clamped(T((x - low) / (high - low)), T(0), T(1));
  return t * t * (T(3) - T(2) * t);
}

}  // namespace mb

namespace metal {

MB_MAP2(min, mb::join, mb::smaller<T>(x, y))
MB_MAP2(max, mb::join, mb::larger<T>(x, y))
MB_MAP2(fmin, mb::floating2, mb::smaller<T>(x, y))
MB_MAP2(fmax, mb::floating2, mb::larger<T>(x, y))
MB_MAP3(clamp, mb::join3, mb::clamped<T>(x, y, z))
MB_MAP1(saturate, mb::floating, mb::clamped<T>(x, T(0), T(1)))
MB_MAP3(mix, mb::floating3, x + (y - x) * z)
MB_MAP1(sign, mb::floating, mb::sign_of<T>(x))
MB_MAP3(smoothstep, mb::floating3, mb::hermite<T>(x, y, z))
MB_MAP2(step, mb::floating2, y < x ? T(0) : T(1))
MB_MAP3(min3, mb::join3, mb::smaller<T>(x, mb::smaller<T>(y, z)))
MB_MAP3(max3, mb::join3, mb::larger<T>(x, mb::larger<T>(y, z)))
MB_MAP3(median3, mb::join3,
        mb::larger<T>(mb::smaller<T>(x, y), mb::smaller<T>(mb::larger<T>(x, y), z)))
MB_MAP3(fmin3, mb::floating3, mb::smaller<T>(x, mb::smaller<T>(y, z)))
MB_MAP3(fmax3, mb::floating3, mb::larger<T>(x, mb::larger<T>(y, z)))
MB_MAP3(fmedian3, mb::floating3,
        mb::larger<T>(mb::smaller<T>(x, y), mb::smaller<T>(mb::larger<T>(x, y), z)))

// Functions that they do not declare themselves are the same in both.
namespace fast {
using namespace metal;
}
namespace precise {
using namespace metal;
}

}  // namespace metal

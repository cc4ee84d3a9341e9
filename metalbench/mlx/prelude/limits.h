// The extremes of a type: those of floating-point types are infinite unless asked to be finite.
#pragma once

#include "complex.h"

template <typename U>
struct Limits {
  static constexpr constant bool infinite = is_floating_point_v<U> || is_same_v<U, bfloat16_t>;
  static constexpr constant U finite_max = metal::numeric_limits<U>::max();
  static constexpr constant U finite_min = metal::numeric_limits<U>::lowest();
  static constexpr constant U max = infinite ? metal::numeric_limits<U>::infinity() : finite_max;
  static constexpr constant U min = infinite ? -metal::numeric_limits<U>::infinity() : finite_min;
};

template <>
struct Limits<bool> {
  static constexpr constant bool max = true;
  static constexpr constant bool min = false;
};

template <typename T>
struct Limits<complex_t<T>> {
  static constexpr constant complex_t<T> max = complex_t<T>(Limits<T>::max, Limits<T>::max);
  static constexpr constant complex_t<T> min = complex_t<T>(Limits<T>::min, Limits<T>::min);
};

// Operations of SIMD-groups and quads, for all execution modes.
#pragma once

#include "sync.h"

namespace mb {

inline constexpr u32 quad_width = 4;

#define MB_REDUCTION(Name, Identity, ...) \
  struct Name {                           \
    template <class T>                    \
    MB_FUNC static T identity() {         \
      return T(Identity);                 \
    }                                     \
    template <class T>                    \
    MB_FUNC static T of(T a, T b) {       \
      return map(                         \
          MB_LAMBDA2 {                    \
            using E = decltype(x);        \
            return E(__VA_ARGS__);        \
          },                              \
          a, b);                          \
    }                                     \
  };

template <class T>
MB_FUNC constexpr T lowest() {
  if constexpr (is_float<T>) return T(-__builtin_inff());
  else if constexpr (!is_signed<T>) return T(0);
  else return T(1ull << (8 * sizeof(T) - 1));
}
template <class T>
MB_FUNC constexpr T highest() {
  if constexpr (is_float<T>) return T(__builtin_inff());
  else return T(~lowest<T>());
}

MB_REDUCTION(Sum, 0, x + y)
MB_REDUCTION(Product, 1, x* y)
MB_REDUCTION(Least, highest<element<T>>(), y < x || x != x ? y : x)
MB_REDUCTION(Greatest, lowest<element<T>>(), x < y || x != x ? y : x)
MB_REDUCTION(And, ~element<T>(0), x& y)
MB_REDUCTION(Or, 0, x | y)
MB_REDUCTION(Xor, 0, x ^ y)
#undef MB_REDUCTION

// How a shuffle finds its source lane: `lane` is the reader, `by` its argument, which is uniform
// except for `to`.
enum class Move { to, broadcast, up, down, exclusive_or, rotate_up, rotate_down };

template <Move move>
MB_FUNC constexpr u32 source_lane(u32 lane, u32 by, u32 width) {
  switch (move) {
    case Move::to:
    case Move::broadcast:
      return by;
    case Move::up:
      return lane - by;
    case Move::down:
      return lane + by;
    case Move::exclusive_or:
      return lane ^ by;
    case Move::rotate_up:
      return (lane - by) & (width - 1);
    case Move::rotate_down:
      return (lane + by) & (width - 1);
  }
}

// Return the source lane of a shuffle within parts of `size` lanes. For a source outside of the
// reader's part it is lane 32, which does not exist and reads as zero. For up and down it is then
// the reader itself.
template <u32 size, Move move>
MB_FUNC constexpr u32 source_in_part(u32 lane, u32 by) {
  const u32 base = lane & ~(size - 1);
  const u32 from = source_lane<move>(lane & (size - 1), by, size);
  const u32 otherwise = move == Move::up || move == Move::down ? lane : simd_width;
  return from < size ? base + from : otherwise;
}

}  // namespace mb

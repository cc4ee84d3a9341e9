// SIMD-group functions for types that Metal's own do not take: 64-bit integers, bool, complex.
#pragma once

#include "complex.h"

#define MOVE_BETWEEN_LANES(function)                                              \
  inline uint64_t function(uint64_t x, uint16_t by) {                             \
    return as_type<uint64_t>(metal::function(as_type<uint2>(x), by));             \
  }                                                                               \
  inline int64_t function(int64_t x, uint16_t by) {                               \
    return as_type<int64_t>(metal::function(as_type<uint2>(x), by));              \
  }                                                                               \
  inline bool function(bool x, uint16_t by) {                                     \
    return metal::function(static_cast<uint32_t>(x), by) != 0;                    \
  }                                                                               \
  inline complex64_t function(complex64_t x, uint16_t by) {                       \
    return complex64_t(metal::function(x.real, by), metal::function(x.imag, by)); \
  }
MOVE_BETWEEN_LANES(simd_shuffle)
MOVE_BETWEEN_LANES(simd_shuffle_up)
MOVE_BETWEEN_LANES(simd_shuffle_down)
#undef MOVE_BETWEEN_LANES

inline uint64_t simd_shuffle_and_fill_up(uint64_t x, uint64_t fill, uint16_t by) {
  return as_type<uint64_t>(
      metal::simd_shuffle_and_fill_up(as_type<uint2>(x), as_type<uint2>(fill), by));
}
inline int64_t simd_shuffle_and_fill_up(int64_t x, int64_t fill, uint16_t by) {
  return as_type<int64_t>(
      metal::simd_shuffle_and_fill_up(as_type<uint2>(x), as_type<uint2>(fill), by));
}
inline bool simd_shuffle_and_fill_up(bool x, bool fill, uint16_t by) {
  return metal::simd_shuffle_and_fill_up(uint32_t(x), uint32_t(fill), by) != 0;
}
inline complex64_t simd_shuffle_and_fill_up(complex64_t x, complex64_t fill, uint16_t by) {
  return complex64_t(metal::simd_shuffle_and_fill_up(x.real, fill.real, by),
                     metal::simd_shuffle_and_fill_up(x.imag, fill.imag, by));
}

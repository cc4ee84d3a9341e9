#pragma once

#include <metal_logging>
#include <metal_stdlib>

using namespace metal;

typedef half float16_t;
typedef bfloat bfloat16_t;

namespace mlx {
using os_log = metal::os_log;
}

inline uint16_t bfloat16_to_uint16(const bfloat16_t x) { return as_type<uint16_t>(x); }
inline bfloat16_t uint16_to_bfloat16(const uint16_t x) { return as_type<bfloat16_t>(x); }

// Elements for one thread where it moves eight bytes at a time.
template <typename U>
struct WorkPerThread {
  static_assert(sizeof(U) <= 8, "at most eight bytes");
  static constexpr int constant n = 8 / sizeof(U);
};

template <bool condition, typename T, typename U>
struct ConditionalType {
  using type = metal::conditional_t<condition, T, U>;
};

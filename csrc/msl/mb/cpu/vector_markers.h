// With MB_VECTOR a kernel is compiled for one lane. Interactions with other lanes of its SIMD-group
// are calls of undefined marker functions. metalbench/msl/vectorize vectorises the lane's code and
// replaces these calls.
#pragma once

#include "../access.h"

// The same result at any place in a lane's code; not convergent, with any compiler flags.
#define MB_PLACE_MARKER [[gnu::const, clang::noconvergent]]
// Operations of the active lanes, which depend on the place of the call.
#define MB_LANES_MARKER [[gnu::const, clang::convergent, clang::nomerge]]

extern "C" {

MB_PLACE_MARKER mb::u32 mb_vector_lane() noexcept;   // in the SIMD-group
MB_PLACE_MARKER mb::u32 mb_vector_index() noexcept;  // in the threadgroup
MB_PLACE_MARKER mb::u32 mb_vector_x() noexcept;
MB_PLACE_MARKER mb::u32 mb_vector_y() noexcept;
MB_PLACE_MARKER mb::u32 mb_vector_z() noexcept;
MB_PLACE_MARKER mb::u32 mb_vector_simdgroup() noexcept;
MB_PLACE_MARKER mb::u8* mb_vector_arena() noexcept;

[[clang::convergent, clang::nomerge]] void mb_vector_barrier() noexcept;
// Begin of a loop iteration.
MB_LANES_MARKER mb::u32 mb_vector_turn_begins() noexcept;
// At a loop exit of a lane; the code before it belongs to the iteration. Always false.
MB_LANES_MARKER bool mb_vector_turn_ends(mb::u32 turn) noexcept;
MB_LANES_MARKER mb::u32 mb_vector_ballot(bool vote) noexcept;

// shuffle: value of lane `from`; zero if it does not exist or is inactive. first: value of the
// first active lane.
#define MB_MOVING_MARKERS(T, name)                                          \
  MB_LANES_MARKER T mb_vector_shuffle_##name(T, mb::u32 from) noexcept;     \
  MB_LANES_MARKER T mb_vector_first_##name(T) noexcept;
#define MB_NUMBER_MARKERS(T, name)                                \
  MB_LANES_MARKER T mb_vector_sum_##name(T) noexcept;               \
  MB_LANES_MARKER T mb_vector_product_##name(T) noexcept;           \
  MB_LANES_MARKER T mb_vector_min_##name(T) noexcept;               \
  MB_LANES_MARKER T mb_vector_max_##name(T) noexcept;               \
  MB_LANES_MARKER T mb_vector_inclusive_sum_##name(T) noexcept;     \
  MB_LANES_MARKER T mb_vector_exclusive_sum_##name(T) noexcept;     \
  MB_LANES_MARKER T mb_vector_inclusive_product_##name(T) noexcept; \
  MB_LANES_MARKER T mb_vector_exclusive_product_##name(T) noexcept;
#define MB_BITS_MARKERS(T, name)                    \
  MB_LANES_MARKER T mb_vector_and_##name(T) noexcept; \
  MB_LANES_MARKER T mb_vector_or_##name(T) noexcept;  \
  MB_LANES_MARKER T mb_vector_xor_##name(T) noexcept;

#define MB_UNSIGNED(EACH) EACH(mb::u8, u8) EACH(mb::u16, u16) EACH(mb::u32, u32) EACH(mb::u64, u64)
#define MB_FLOATS(EACH) EACH(_Float16, f16) EACH(__bf16, bf16) EACH(float, f32)
MB_MOVING_MARKERS(bool, b1)
MB_UNSIGNED(MB_MOVING_MARKERS)
MB_FLOATS(MB_MOVING_MARKERS)
MB_UNSIGNED(MB_NUMBER_MARKERS)
MB_FLOATS(MB_NUMBER_MARKERS)
MB_BITS_MARKERS(bool, b1)
MB_UNSIGNED(MB_BITS_MARKERS)
#undef MB_MOVING_MARKERS
#undef MB_NUMBER_MARKERS
#undef MB_BITS_MARKERS
}

namespace mb::marker {

// Select by the type of the operand.
#define MB_OF_VALUE(T, function, name) \
  MB_FUNC T function(T x) { return mb_vector_##function##_##name(x); }
#define MB_MOVING(T, name)                                                           \
  MB_FUNC T shuffle(T x, u32 from) { return mb_vector_shuffle_##name(x, from); }     \
  MB_OF_VALUE(T, first, name)
#define MB_NUMBER(T, name)               \
  MB_OF_VALUE(T, sum, name)                \
  MB_OF_VALUE(T, product, name)            \
  MB_OF_VALUE(T, min, name)                \
  MB_OF_VALUE(T, max, name)                \
  MB_OF_VALUE(T, inclusive_sum, name)      \
  MB_OF_VALUE(T, exclusive_sum, name)      \
  MB_OF_VALUE(T, inclusive_product, name)  \
  MB_OF_VALUE(T, exclusive_product, name)
// `and`, `or` and `xor` are C++ operators.
#define MB_BITS(T, name)                                        \
  MB_FUNC T all_bits(T x) { return mb_vector_and_##name(x); }     \
  MB_FUNC T any_bits(T x) { return mb_vector_or_##name(x); }      \
  MB_FUNC T odd_bits(T x) { return mb_vector_xor_##name(x); }
MB_MOVING(bool, b1)
MB_UNSIGNED(MB_MOVING)
MB_FLOATS(MB_MOVING)
MB_UNSIGNED(MB_NUMBER)
MB_FLOATS(MB_NUMBER)
MB_BITS(bool, b1)
MB_UNSIGNED(MB_BITS)
#undef MB_OF_VALUE
#undef MB_MOVING
#undef MB_NUMBER
#undef MB_BITS
#undef MB_UNSIGNED
#undef MB_FLOATS

}  // namespace mb::marker

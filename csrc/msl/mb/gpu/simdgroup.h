// Functions of SIMD-groups and quads by the shuffles and votes of a warp. If all lanes are active,
// which is the usual case, they take a few steps; otherwise they loop over the lanes.
#pragma once

#include "../simdgroup_operations.h"

namespace mb {

inline constexpr u32 all_lanes = ~0u;

// Return the value of an active lane. Shuffles move 32 bits at a time.
template <class T>
MB_FUNC T value_of(u32 active, T x, u32 from) {
  constexpr u32 count = (sizeof(T) + 3) / 4;
  u32 word[count] = {};
  __builtin_memcpy(word, __builtin_addressof(x), sizeof(T));
#pragma clang loop unroll(full)
  for (u32 i = 0; i < count; ++i) word[i] = __nvvm_shfl_sync_idx_i32(active, word[i], from, 31);
  T result;
  __builtin_memcpy(__builtin_addressof(result), word, sizeof(T));
  return result;
}

// Return the first lane of this lane's part of `size` lanes.
template <u32 size>
MB_FUNC u32 first_of_part() {
  return size == simd_width ? 0 : lane() & ~(size - 1);
}

template <class T>
constexpr bool is_four_words = false;
template <class E>
constexpr bool is_four_words<metal::vec<E, 4>> = sizeof(E) == 4;

// Reduce four values over all lanes: half-warps continue with two values each, quarter-warps with
// one, and broadcast the results at the end. That takes half the shuffles and gives the same sums.
template <class Op, class E>
MB_FUNC metal::vec<E, 4> reduce_four(metal::vec<E, 4> x) {
  const u32 own = lane();
  const bool high = own & 16, odd = own & 8;
  const auto joined = [own](E kept, E sent, u32 width) __attribute__((always_inline)) {
    return Op::of(kept, value_of(all_lanes, sent, own ^ width));
  };
  const E first = joined(high ? x.z : x.x, high ? x.x : x.z, 16);
  const E second = joined(high ? x.w : x.y, high ? x.y : x.w, 16);
  E one = joined(odd ? second : first, odd ? first : second, 8);
#pragma clang loop unroll(full)
  for (u32 width = 4; width; width /= 2) one = joined(one, one, width);
  return metal::vec<E, 4>(value_of(all_lanes, one, 0), value_of(all_lanes, one, 8),
                          value_of(all_lanes, one, 16), value_of(all_lanes, one, 24));
}

// Not unrolled: the case is rare, and ptxas runs out of predicate registers for 32 lanes.
#define MB_LANE_BY_LANE _Pragma("clang loop unroll(disable)")

template <u32 size, class Op, class T>
MB_FUNC T reduce(T x) {
  const u32 active = active_lanes();
  if (active == all_lanes) {
    if constexpr (size == simd_width && is_four_words<T>) return reduce_four<Op>(x);
#pragma clang loop unroll(full)
    for (u32 width = size / 2; width; width /= 2) x = Op::of(x, value_of(all_lanes, x, lane() ^ width));
    return x;
  }
  T result = Op::template identity<T>();
  MB_LANE_BY_LANE
  for (u32 i = 0; i < size; ++i) {
    const u32 from = first_of_part<size>() + i;
    const T value = value_of(active, x, from);
    result = active >> from & 1 ? Op::of(result, value) : result;
  }
  return result;
}

template <u32 size, class Op, bool inclusive, class T>
MB_FUNC T scan(T x) {
  const u32 active = active_lanes(), own = lane() & (size - 1);
  if (active == all_lanes) {
#pragma clang loop unroll(full)
    for (u32 by = 1; by < size; by *= 2) {
      const T before = value_of(all_lanes, x, lane() - by);
      x = own >= by ? Op::of(before, x) : x;
    }
    if constexpr (inclusive) return x;
    const T before = value_of(all_lanes, x, lane() - 1);
    return own == 0 ? Op::template identity<T>() : before;
  }
  T running = Op::template identity<T>();
  MB_LANE_BY_LANE
  for (u32 i = 0; i < size; ++i) {
    const u32 from = first_of_part<size>() + i;
    const T value = value_of(active, x, from);
    const bool counts = (inclusive ? i <= own : i < own) && (active >> from & 1);
    running = counts ? Op::of(running, value) : running;
  }
  return running;
}

#undef MB_LANE_BY_LANE

// Zero if the lane does not exist or is inactive.
template <class T>
MB_FUNC T from_lane(T x, u32 from) {
  const u32 active = active_lanes();
  const T value = value_of(active, x, from);
  return from < simd_width && (active >> from & 1) ? value : T{};
}
template <class T>
MB_FUNC T shuffle_element(T x, u32 from) {
  return from_lane(x, from);
}

template <u32 size, Move move, class T>
MB_FUNC T shuffle(T x, u32 by) {
  return from_lane(x, source_in_part<size, move>(lane(), by));
}

// shuffle_and_fill: lanes that would read outside of their part of the SIMD-group read from `fill`.
template <bool up, class T>
MB_FUNC T shuffle_and_fill(T x, T fill, u32 by, u32 modulo) {
  const u32 n = modulo, base = lane() & ~(n - 1), at = lane() & (n - 1);
  const u32 moved = up ? at - by : at + by;
  const u32 from = base + (moved & (n - 1));
  const T value = from_lane(x, from), filled = from_lane(fill, from);
  return moved < n ? value : filled;
}

// Masks of the active lanes with a true operand, and of all active lanes.
struct Ballot {
  u32 votes, active;
};

template <u32 size>
MB_FUNC Ballot ballot(bool vote) {
  constexpr u32 all = (1ull << size) - 1;
  const u32 active = active_lanes(), base = first_of_part<size>();
  return Ballot{__nvvm_vote_ballot_sync(active, vote) >> base & all, active >> base & all};
}

template <u32 size, class T>
MB_FUNC T broadcast_first(T x) {
  const u32 active = active_lanes(), base = first_of_part<size>();
  return value_of(active, x, base + __builtin_ctz(active >> base));
}

}  // namespace mb

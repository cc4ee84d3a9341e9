// Functions of SIMD-groups, and of quads: every four lanes of one.
// A lane that does not take part reads as zero, whatever the function.
#pragma once

#include "simdgroup_operations.h"
#if MB_VECTOR
#include "vector_simdgroup.h"
#else
#include "fiber_simdgroup.h"
#endif

namespace mb {

template <u32 size, Move move, class T>
MB_FUNC T shuffle(T x, u32 by) {
  if constexpr (size == simd_width) {
    return shuffle_lanes<move>(x, by);
  } else {
    // A source outside of the reader's part is none: lane 32 exists nowhere and reads as zero. But
    // up and down leave a lane's own value there.
    u32 base = lane() & ~(size - 1);
    u32 from = source_lane<move>(lane() & (size - 1), by, size);
    u32 otherwise = move == Move::up || move == Move::down ? lane() : simd_width;
    return shuffle_lanes<Move::to>(x, from < size ? base + from : otherwise);
  }
}

template <u32 size>
MB_FUNC Ballot ballot(bool vote) {
  Ballot all_lanes = ballot_of_lanes(vote);
  if constexpr (size == simd_width) return all_lanes;
  constexpr u32 all = (1ull << size) - 1;
  u32 base = lane() & ~(size - 1);
  return Ballot{all_lanes.votes >> base & all, all_lanes.active >> base & all};
}

template <u32 size, class T>
MB_FUNC T broadcast_first(T x) {
  if constexpr (size == simd_width) return first_lane(x);
  else return shuffle<size, Move::to>(x, __builtin_ctz(ballot<size>(true).active));
}

}  // namespace mb

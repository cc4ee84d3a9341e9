// Synchronisation of threads that are lanes of vectors: a SIMD-group runs in lockstep on one fiber.
#pragma once

#include "fiber_switch.h"
#include "vector_markers.h"

namespace mb {

MB_FUNC u32 lane() {
  const u32 lane = mb_vector_lane();
  __builtin_assume(lane < simd_width);
  return lane;
}
// All lanes do the same to the same elements, which is equivalent to doing it once.
MB_FUNC bool owns_matrices() { return true; }
// Lanes run in lockstep.
MB_FUNC void expect_all_lanes() {}
MB_FUNC u32 turn_begins() { return mb_vector_turn_begins(); }
// A branch, so that the code before it and the code after it stay in separate blocks.
MB_FUNC void turn_ends(u32 turn) {
  if (mb_vector_turn_ends(turn)) __builtin_trap();
}
MB_FUNC u8* arena() { return mb_vector_arena(); }

}  // namespace mb

// Placed before a loop whose iterations end at markers, instead of the source's pragmas.
#define MB_LOOP_OF_TURNS _Pragma("clang loop unroll(disable)")
#define MB_LOOP_HINT(pragma)
#define MB_MEET_IN_THREADGROUP(mem_flags) mb_vector_barrier()
// The lanes are in lockstep; only their writes must be in memory.
#define MB_MEET_IN_SIMDGROUP(mem_flags) __atomic_signal_fence(__ATOMIC_SEQ_CST)

// Replacement of mb_vector_barrier(), once for all lanes.
extern "C" [[gnu::noinline, gnu::used, gnu::visibility("hidden"), clang::not_tail_called]]
MB_EMITTED inline void mb_vector_meet() noexcept {
  mb::Fiber* self = mb::current();
  mb::Bundle* bundle = self->bundle;
  const mb::u32 fibers = bundle->group->fibers;
  if (fibers == 1) return;
  const mb::u32 own = 1u << self->lane, others = bundle->ready & ~own;
  bundle->at_barrier |= own;
  if (others == 0 && fibers <= mb::simd_width) {
    // This is the only bundle, and all of its lanes wait or have returned. So they are released
    // here, and the last one need not switch its stack.
    bundle->ready = bundle->at_barrier;
    bundle->at_barrier = 0;
  } else {
    mb::leave(self, bundle, others);
  }
}

// Synchronisation of GPU threads: a SIMD-group is a warp.
#pragma once

#include "memory.h"

namespace mb {

MB_FUNC u32 lane() {
  const u32 lane = __nvvm_read_ptx_sreg_laneid();
  __builtin_assume(lane < simd_width);
  return lane;
}

// Return the mask of active lanes. The others have returned or taken another branch.
MB_FUNC u32 active_lanes() {
  u32 mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}

MB_FUNC u32 turn_begins() { return 0; }
MB_FUNC void turn_ends(u32) {}

}  // namespace mb

#define MB_LOOP_OF_TURNS
#define MB_LOOP_HINT(pragma) _Pragma(pragma)
#define MB_MEET_IN_THREADGROUP(mem_flags) __syncthreads()
#define MB_MEET_IN_SIMDGROUP(mem_flags) __nvvm_bar_warp_sync(mb::active_lanes())

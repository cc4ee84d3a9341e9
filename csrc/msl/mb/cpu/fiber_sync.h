// Synchronisation of threads that are fibers: each waits on a separate stack, at a call that the
// runtime knows.
#pragma once

#include "fiber_switch.h"

namespace mb {

// The call site identifies a synchronisation, so calls must not be merged, duplicated or turned
// into jumps.
#define MB_SITE [[gnu::noinline, clang::convergent, clang::nomerge, clang::not_tail_called]] MB_UNTRACED

// Return whether lanes are in the same iterations of the same loops.
MB_FUNC MB_UNTRACED bool are_same(const u32* turns, const u32* others) {
  if (turns == nullptr || others == nullptr) return turns == others;
  for (; *turns == *others && *turns != no_loop; turns += 2, others += 2) {
    if (turns[1] != others[1]) return false;
  }
  return *turns == *others;
}

// After optimisation, calls of this function are inserted before calls of meet():
// transforms/block_layout.py.
[[gnu::noinline]] MB_UNTRACED static void in_turns(const u32* turns) {
  current()->turns = turns;
}

MB_SITE static void meet(void* operand, Combine combine) {
  // Forces the function to be emitted. With [[gnu::used]], its position in the object would depend
  // on precompiled headers.
  asm volatile("" : : "r"(&in_turns));
  Fiber* self = current();
  Bundle* bundle = self->bundle;
  const u32 lane = self->lane;
  const void* site = __builtin_return_address(0);
  bundle->operand[lane] = operand;
  bundle->combine[lane] = combine;
  bundle->site[lane] = site;
  const u32* turns = bundle->turns[lane] = self->turns;
  self->turns = nullptr;
  if (bundle->meeting == 0) {
    bundle->meeting_site = site;
    bundle->meeting_turns = turns;
  } else if (bundle->meeting_site != site || !are_same(bundle->meeting_turns, turns)) {
    bundle->diverged = true;
  }
  bundle->meeting |= 1u << lane;
  leave(self, bundle, bundle->ready & ~(1u << lane));
}

MB_SITE static void threadgroup_meeting(void* mem_flags) {
  Fiber* self = current();
  Bundle* bundle = self->bundle;
  const u32 lane = self->lane;
  if (MB_CHECKED) bundle->operand[lane] = mem_flags;
  bundle->site[lane] = __builtin_return_address(0);
  bundle->at_barrier |= 1u << lane;
  leave(self, bundle, bundle->ready & ~(1u << lane));
}

MB_FUNC u32 lane() { return current()->lane; }
MB_FUNC u32 turn_begins() { return 0; }
MB_FUNC void turn_ends(u32) {}
MB_FUNC u8* arena() { return current()->bundle->group->arena; }
// Macros, so that the kernel library's functions are the call sites.
#define MB_LOOP_OF_TURNS
#define MB_LOOP_HINT(pragma) _Pragma(pragma)
#define MB_MEET_IN_THREADGROUP(mem_flags) \
  mb::threadgroup_meeting(reinterpret_cast<void*>(mb::uptr(mem_flags)))
#define MB_MEET_IN_SIMDGROUP(mem_flags) \
  mb::meet(reinterpret_cast<void*>(mb::uptr(mem_flags)), nullptr)

// Return whether the running lane owns the matrices. `const` although it reads memory: a thread's
// lane never changes, so clang can remove the loops of the other lanes. The assembly of current()
// would make it convergent.
[[gnu::const, gnu::noinline, clang::noconvergent]] MB_UNTRACED static bool owns_matrices() {
  return fiber_of(reinterpret_cast<uptr>(__builtin_frame_address(0)))->lane == 0;
}

// For functions that all lanes must reach together, even if they do not wait for each other.
#if MB_CHECKED
MB_UNTRACED static void expect_lanes(void* const* operand, u32 mask) {
  const u32 one = __builtin_ctz(mask);
  Fiber* lane = fiber_of(reinterpret_cast<uptr>(operand[one]));
  const char* what = nullptr;
  if (mask != lane->bundle->lanes)
    what = "SIMD-group function: not all lanes of the SIMD-group reach it together";
  // The elements of a matrix are distributed over all 32 lanes, which must be active.
  else if (mask != ~0u)
    what =
        "SIMD-group function of matrices in a SIMD-group that has fewer than 32 threads: launch a "
        "multiple of 32 threads in each threadgroup";
  if (what != nullptr) lane->bundle->group->runtime->fail(lane, what, lane->bundle->site[one]);
}
MB_UNTRACED static void expect_and_go_on(void* const* operand, u32 mask) {
  expect_lanes(operand, mask);
  // Not a synchronisation: Metal does not synchronise here.
  --fiber_of(reinterpret_cast<uptr>(operand[__builtin_ctz(mask)]))->bundle->rounds;
}
MB_FUNC void expect_all_lanes() {
  char own;
  meet(&own, expect_and_go_on);
}
#else
MB_FUNC void expect_all_lanes() {}
#endif

// One value per lane, gathered while all lanes of a synchronisation wait.
template <class T>
struct Lanes {
  T value[simd_width];

  MB_UNTRACED explicit Lanes(void* const* operand, u32 mask, T absent = T{}) {
    for (u32 i = 0; i < simd_width; ++i) {
      value[i] = mask >> i & 1 ? *static_cast<const T*>(operand[i]) : absent;
    }
  }
};

template <class T>
MB_UNTRACED MB_FUNC void scatter(void* const* operand, u32 mask, const T* value) {
  for (u32 i = 0; i < simd_width; ++i) {
    if (mask >> i & 1) *static_cast<T*>(operand[i]) = value[i];
  }
}

}  // namespace mb

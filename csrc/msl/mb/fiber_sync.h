// Threads that are fibers: each waits on a stack of its own, at a call that the runtime knows.
#pragma once

#include "fiber_switch.h"

namespace mb {

// The call site identifies a meeting, so calls must be neither merged, duplicated nor turned into jumps.
#define MB_SITE [[gnu::noinline, clang::convergent, clang::nomerge, clang::not_tail_called]] MB_UNTRACED

MB_SITE static void meet(void* operand, Combine combine) {
  Fiber* self = current();
  Simdgroup* simdgroup = self->simdgroup;
  const u32 lane = self->lane;
  const void* site = __builtin_return_address(0);
  simdgroup->operand[lane] = operand;
  simdgroup->combine[lane] = combine;
  simdgroup->site[lane] = site;
  if (simdgroup->meeting == 0) simdgroup->meeting_site = site;
  else if (simdgroup->meeting_site != site) simdgroup->diverged = true;
  simdgroup->meeting |= 1u << lane;
  leave(self, simdgroup, simdgroup->ready & ~(1u << lane));
}

MB_SITE static void threadgroup_meeting(void* mem_flags) {
  Fiber* self = current();
  Simdgroup* simdgroup = self->simdgroup;
  const u32 lane = self->lane;
  if (MB_CHECKED) simdgroup->operand[lane] = mem_flags;
  simdgroup->site[lane] = __builtin_return_address(0);
  simdgroup->at_barrier |= 1u << lane;
  leave(self, simdgroup, simdgroup->ready & ~(1u << lane));
}

MB_FUNC u32 lane() { return current()->lane; }
MB_FUNC u8* arena() { return current()->simdgroup->group->arena; }
MB_FUNC void threadgroup_sync(u32 mem_flags) {
  threadgroup_meeting(reinterpret_cast<void*>(uptr(mem_flags)));
}
MB_FUNC void simdgroup_sync(u32 mem_flags) { meet(reinterpret_cast<void*>(uptr(mem_flags)), nullptr); }

// One value a lane, gathered while all lanes of a meeting wait.
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

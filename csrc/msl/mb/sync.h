// Synchronisation of threads: barriers, and shared threadgroup memory.
#pragma once

#include "access.h"
#include "lift.h"
#if MB_GPU
#include "gpu/sync.h"
#elif MB_VECTOR
#include "cpu/vector_sync.h"
#include "cpu/memory.h"
#else
#include "cpu/fiber_sync.h"
#include "cpu/memory.h"
#endif

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
MB_FUNC constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
MB_FUNC constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }

enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device,
  thread_scope_system,
};

}  // namespace metal

namespace mb {

// For barriers of a SIMD-group, which the runtime does not observe.
MB_FUNC void fence_own_texels(u32 flags) {
  constexpr u32 of_texels = u32(metal::mem_flags::mem_device) | u32(metal::mem_flags::mem_texture);
  if ((flags & of_texels) != 0) MB_FENCE_TEXELS(nullptr);
}

}  // namespace mb

namespace metal {

MB_FUNC void threadgroup_barrier(mem_flags flags, thread_scope = thread_scope_device) {
  MB_MEET_IN_THREADGROUP(flags);
}
MB_FUNC void simdgroup_barrier(mem_flags flags, thread_scope = thread_scope_device) {
  mb::fence_own_texels(uint(flags));
  MB_MEET_IN_SIMDGROUP(flags);
}
MB_FUNC void quadgroup_barrier(mem_flags flags, thread_scope = thread_scope_device) {
  mb::fence_own_texels(uint(flags));
  MB_MEET_IN_SIMDGROUP(flags);
}

}  // namespace metal

namespace mb {

// Return from within a loop.
template <class T>
MB_FUNC T turn_ends(u32 turn, T x) {
  turn_ends(turn);
  return x;
}

}  // namespace mb

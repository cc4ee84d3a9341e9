// Where the threads of a group meet: barriers, and the threadgroup memory that they share.
#pragma once

#include "access.h"
#include "lift.h"
#include "object_file.h"
#if MB_VECTOR
#include "vector_sync.h"
#else
#include "fiber_sync.h"
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

MB_FUNC void threadgroup_barrier(mem_flags flags = mem_flags::mem_none, thread_scope = thread_scope_device) {
  MB_MEET_IN_THREADGROUP(flags);
}
MB_FUNC void simdgroup_barrier(mem_flags flags = mem_flags::mem_none, thread_scope = thread_scope_device) {
  MB_MEET_IN_SIMDGROUP(flags);
}
MB_FUNC void quadgroup_barrier(mem_flags flags = mem_flags::mem_none, thread_scope = thread_scope_device) {
  MB_MEET_IN_SIMDGROUP(flags);
}

}  // namespace metal

namespace mb {

// What is returned from within a loop.
template <class T>
MB_FUNC T turn_ends(T x) {
  turn_ends();
  return x;
}

extern "C" {
MB_SECTION_ENDS(u8, threadgroup_begin, threadgroup_end, mb_threadgroup)
}

// The running group's own copy of a threadgroup variable: the linker lays all of them out in one
// section, whose image is the start of every group's arena.
template <class T>
MB_FUNC T& threadgroup_variable(u8* storage) {
  return *reinterpret_cast<T*>(arena() + (storage - threadgroup_begin));
}

}  // namespace mb

#define MB_THREADGROUP(T, name)                                                             \
  alignas(T) alignas(16) static unsigned char mb_storage_##name[sizeof(T)] __attribute__((  \
      MB_DATA_SECTION(mb_threadgroup)));                                                    \
  MB_IN_THREADGROUP T& name =                                                               \
      *(MB_IN_THREADGROUP T*)&mb::threadgroup_variable<T>(mb_storage_##name);

// Where the threads of a group meet: barriers, and the meetings behind the SIMD-group functions.
#pragma once

#include "lift.h"
#include "object_file.h"
#include "switch.h"

#define MB_UNTRACED __attribute__((no_sanitize("coverage", "kernel-address")))

namespace mb {

// The call site identifies a meeting, so calls must be neither merged, duplicated nor turned into jumps.
#define MB_SITE [[gnu::noinline, clang::convergent, clang::nomerge, clang::not_tail_called]] MB_UNTRACED

// Leaves this stack, saved at *save, and continues another one.
[[gnu::naked]] MB_UNTRACED static void switch_stack(void**, void*) { asm(MB_SAVE_STACK MB_RESUME_STACK); }

// The calling lane waits; whoever is ready continues.
MB_FUNC MB_UNTRACED void leave(Fiber* self, Simdgroup* simdgroup, u32 ready) {
  prefetch_stack(simdgroup, self->lane);
  simdgroup->ready = ready;
  void* next = ready != 0 ? simdgroup->stack_pointer[__builtin_ctz(ready)]
                          : simdgroup->group->runtime->next(self);
  if (next != nullptr) switch_stack(&simdgroup->stack_pointer[self->lane], next);
}

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

#if MB_CHECKED
[[gnu::noinline]] MB_UNTRACED static void access(const volatile void* address, u64 bytes, AccessKind kind) {
  Fiber* self = current();
  self->simdgroup->group->runtime->access(self, address, bytes, kind, __builtin_return_address(0));
}
#define MB_ACCESS(address, bytes, kind) mb::access(address, bytes, mb::AccessKind::kind)
MB_FUNC MB_UNTRACED void misaligned(const void* address, u64 alignment, Use use, const void* pc) {
  Fiber* self = current();
  self->simdgroup->group->runtime->misaligned(self, address, alignment, use, pc);
}

// Of several elements that the caller takes apart.
template <class T>
[[gnu::noinline]] MB_UNTRACED static void access_elements(T* first, u32 count, AccessKind kind) {
  const void* pc = __builtin_return_address(0);
  const bool is_aligned = reinterpret_cast<uptr>(first) % alignof(T) == 0;
  if (!is_aligned) misaligned(first, alignof(T), Use(kind), pc);
  Fiber* self = current();
  self->simdgroup->group->runtime->access(self, first, count * sizeof(T), kind, pc);
}
#define MB_ELEMENTS(first, count, kind) mb::access_elements(first, count, mb::AccessKind::kind)
[[gnu::noinline]] MB_UNTRACED static void fence(u32 mem_flags) {
  Fiber* self = current();
  self->simdgroup->group->runtime->fence(self, mem_flags);
}
#else
#define MB_ACCESS(address, bytes, kind) ((void)0)
#define MB_ELEMENTS(first, count, kind) ((void)0)
#endif

MB_FUNC u32 lane() { return current()->lane; }

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
  mb::threadgroup_meeting(reinterpret_cast<void*>(mb::uptr(flags)));
}
MB_FUNC void simdgroup_barrier(mem_flags flags = mem_flags::mem_none, thread_scope = thread_scope_device) {
  mb::meet(reinterpret_cast<void*>(mb::uptr(flags)), nullptr);
}
MB_FUNC void quadgroup_barrier(mem_flags flags = mem_flags::mem_none, thread_scope = thread_scope_device) {
  mb::meet(reinterpret_cast<void*>(mb::uptr(flags)), nullptr);
}

}  // namespace metal

namespace mb {

extern "C" {
MB_SECTION_ENDS(u8, threadgroup_begin, threadgroup_end, mb_threadgroup)
}

// The running group's own copy of a threadgroup variable: the linker lays all of them out in one
// section, whose image is the start of every group's arena.
template <class T>
MB_FUNC T& threadgroup_variable(u8* storage) {
  u8* arena = current()->simdgroup->group->arena;
  return *reinterpret_cast<T*>(arena + (storage - threadgroup_begin));
}

}  // namespace mb

#define MB_THREADGROUP(T, name)                                                             \
  alignas(T) alignas(16) static unsigned char mb_storage_##name[sizeof(T)] __attribute__((  \
      MB_DATA_SECTION(mb_threadgroup)));                                                    \
  MB_IN_THREADGROUP T& name =                                                               \
      *(MB_IN_THREADGROUP T*)&mb::threadgroup_variable<T>(mb_storage_##name);

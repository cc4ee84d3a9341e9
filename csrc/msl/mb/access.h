// Reports of memory accesses from checked builds to the runtime, which knows bounds and threads.
#pragma once

#include "scalar.h"

// Excludes the checks themselves from instrumentation.
#define MB_UNTRACED __attribute__((no_sanitize("coverage", "kernel-address", "kernel-memory")))
// Prevents MemorySanitizer from inserting code into them, including code that clears the shadow.
#define MB_NOT_SHADOWED __attribute__((disable_sanitizer_instrumentation))

namespace mb {

#if MB_CHECKED
[[gnu::noinline]] MB_UNTRACED static void access(const volatile void* address, u64 bytes, AccessKind kind) {
  Fiber* self = current();
  self->bundle->group->runtime->access(self, address, bytes, kind, __builtin_return_address(0));
}
#define MB_ACCESS(address, bytes, kind) mb::access(address, bytes, mb::AccessKind::kind)
MB_FUNC MB_UNTRACED void misaligned(const void* address, u64 alignment, Use use, const void* pc) {
  Fiber* self = current();
  self->bundle->group->runtime->misaligned(self, address, alignment, use, pc);
}

// For several elements that the caller accesses separately.
template <class T>
[[gnu::noinline]] MB_UNTRACED static void access_elements(T* first, u32 count, AccessKind kind) {
  const void* pc = __builtin_return_address(0);
  const bool is_aligned = reinterpret_cast<uptr>(first) % alignof(T) == 0;
  if (!is_aligned) misaligned(first, alignof(T), Use(kind), pc);
  Fiber* self = current();
  self->bundle->group->runtime->access(self, first, count * sizeof(T), kind, pc);
}
#define MB_ELEMENTS(first, count, kind) mb::access_elements(first, count, mb::AccessKind::kind)
[[gnu::noinline]] MB_UNTRACED static void fence(u32 mem_flags) {
  Fiber* self = current();
  self->bundle->group->runtime->fence(self, mem_flags);
}
[[gnu::noinline]] MB_UNTRACED static void fence_texels(const Texture* texture) {
  Fiber* self = current();
  self->bundle->group->runtime->fence_texels(self, texture);
}
#define MB_FENCE_TEXELS(texture) mb::fence_texels(texture)
#else
#define MB_ACCESS(address, bytes, kind) ((void)0)
#define MB_ELEMENTS(first, count, kind) ((void)0)
#define MB_FENCE_TEXELS(texture) ((void)0)
#endif

}  // namespace mb

// Checks for uninitialised values before uninstrumented code uses them.
#pragma once

#include "../access.h"
#if MB_SHADOW
#include "shadow_abi.h"
#endif

namespace mb {

#if MB_SHADOW
// Call directly from the function that the kernel calls: its return address is the reported place.
[[gnu::noinline]] MB_UNTRACED MB_NOT_SHADOWED static void expect_given(const void* value, u32 bytes,
                                                                       const char* words) {
  const Fiber* self = current();
  const uptr offset = offset_in_stack(self, value);
  if (offset >= stack_bytes) return;
  for (u32 i = 0; i < bytes; ++i) {
    if (self->shadow[offset + i] == 0) continue;
    const u32 origin =
        *reinterpret_cast<const u32*>(self->shadow + origins_at + (offset + i) / 4 * 4);
    const Undefined what{Finding::uninitialised, {nullptr, nullptr}, {origin, 0}, words,
                         __builtin_return_address(0)};
    self->bundle->group->runtime->undefined(const_cast<Fiber*>(self), &what);
    return;
  }
}
#else
MB_FUNC void expect_given(const void*, u32, const char*) {}
#endif

}  // namespace mb

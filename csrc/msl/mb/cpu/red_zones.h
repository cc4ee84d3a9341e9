// Callbacks of -fsanitize=kernel-address in checked builds with red zones, the bytes of a frame
// outside of variables. Clang computes shadow addresses as an eighth of the address; here the
// shadow is stored next to the stack.
#pragma once

#include "shadow_abi.h"
#include "../sync.h"

#if MB_ZONES

namespace mb {

MB_FUNC MB_NOT_SHADOWED void set_zone(uptr shadow, uptr count, u8 zone) {
  const Fiber* self = current();
  const uptr first = shadow - reinterpret_cast<uptr>(self) / stack_bytes * (stack_bytes / 8);
  if (first < stack_bytes / 8) __builtin_memset(self->shadow + zones_at + first, zone, count);
}

}  // namespace mb

#define MB_ZONE(zone)                                                               \
  extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_UNTRACED        \
      MB_NOT_SHADOWED void __asan_set_shadow_##zone(mb::uptr shadow, mb::uptr count) { \
    mb::set_zone(shadow, count, 0x##zone);                                          \
  }
MB_ZONE(00)
MB_ZONE(01)
MB_ZONE(02)
MB_ZONE(03)
MB_ZONE(04)
MB_ZONE(05)
MB_ZONE(06)
MB_ZONE(07)
MB_ZONE(f1)
MB_ZONE(f2)
MB_ZONE(f3)
MB_ZONE(f5)
MB_ZONE(f8)
#undef MB_ZONE

#endif

#if MB_SHADOW || MB_ZONES
// The runtime only tests whether this symbol exists.
extern "C" [[gnu::used, gnu::visibility("default")]] MB_EMITTED MB_UNTRACED MB_NOT_SHADOWED void
mb_shadowed() {}
#endif

// Callbacks of -fsanitize-coverage in checked builds: every traced load and store goes to the
// runtime.
#pragma once

#include "sync.h"

#if MB_CHECKED

#define MB_TRACE extern "C" [[gnu::visibility("hidden")]] MB_EMITTED MB_UNTRACED

#define MB_TRACED(bytes)                                                  \
  MB_TRACE void __sanitizer_cov_load##bytes(mb::u8* address) {            \
    mb::Fiber* self = mb::current();                                      \
    self->simdgroup->group->runtime->access(self, address, bytes, mb::AccessKind::read,  \
                                            __builtin_return_address(0)); \
  }                                                                       \
  MB_TRACE void __sanitizer_cov_store##bytes(mb::u8* address) {           \
    mb::Fiber* self = mb::current();                                      \
    self->simdgroup->group->runtime->access(self, address, bytes, mb::AccessKind::write,   \
                                            __builtin_return_address(0)); \
  }
MB_TRACED(1)
MB_TRACED(2)
MB_TRACED(4)
MB_TRACED(8)
MB_TRACED(16)
#undef MB_TRACED

// Copying or filling a whole struct: what AddressSanitizer's pass makes of it.
MB_TRACE void* __asan_memmove(void* to, const void* from, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  const mb::Runtime* runtime = self->simdgroup->group->runtime;
  runtime->access(self, from, bytes, mb::AccessKind::copy, __builtin_return_address(0));
  runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
MB_TRACE void* __asan_memcpy(void* to, const void* from, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  const mb::Runtime* runtime = self->simdgroup->group->runtime;
  runtime->access(self, from, bytes, mb::AccessKind::copy, __builtin_return_address(0));
  runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memcpy(to, from, bytes);
}
MB_TRACE void* __asan_memset(void* to, int value, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  self->simdgroup->group->runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memset(to, value, bytes);
}

// Loads and stores are traced only together with basic blocks, which are of no interest here.
MB_TRACE void __sanitizer_cov_trace_pc_guard(mb::u32*) {}
MB_TRACE void __sanitizer_cov_trace_pc_guard_init(mb::u32*, mb::u32*) {}

#undef MB_TRACE

#endif

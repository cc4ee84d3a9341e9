// Callbacks of -fsanitize=kernel-memory in checked builds: the runtime provides the shadow of every
// load and store, and reports uninitialised values.
#pragma once

#include "../sync.h"
#include "shadow_abi.h"
#include "undefined.h"

#if MB_SHADOW

#define MB_SHADOWED                                           \
  extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_UNTRACED MB_NOT_SHADOWED
// Functions that report their caller must not be inlined.
#define MB_SHADOWED_CALL MB_SHADOWED __attribute__((noinline))

namespace mb {

MB_FUNC MB_NOT_SHADOWED Metadata metadata_of(const void* address, u64 bytes, bool is_store,
                                             const void* pc = nullptr) {
  const Fiber* self = current();
  const uptr offset = offset_in_stack(self, address);
  if (__builtin_expect(offset < stack_bytes, 1)) {
    return {self->shadow + offset, reinterpret_cast<u32*>(self->shadow + origins_at + offset / 4 * 4)};
  }
  return self->bundle->group->runtime->metadata(self, address, bytes, is_store, pc);
}

MB_FUNC MB_NOT_SHADOWED void set_origins(u32* origins, u64 bytes, u32 origin) {
  for (u64 i = 0; i < (bytes + 3) / 4; ++i) origins[i] = origin;
}

MB_FUNC MB_NOT_SHADOWED void copied(void* to, const void* from, u64 bytes, const void* pc) {
  Fiber* self = current();
  const Runtime* runtime = self->bundle->group->runtime;
  runtime->access(self, from, bytes, AccessKind::copy, pc);
  runtime->copied(self, to, from, bytes, pc);
  runtime->access(self, to, bytes, AccessKind::write, pc);
}

MB_FUNC MB_NOT_SHADOWED void nothing(const char* variable, const void* pc) {
  Fiber* self = current();
  const u32 origin = self->bundle->group->runtime->born(self, variable, pc);
  ResultShadow* result = reinterpret_cast<ResultShadow*>(shadow_state(self)->context);
  result->shadow[0] = ~u64(0);
  result->origin = origin;
}

}  // namespace mb

#define MB_METADATA(bytes)                                                                   \
  MB_SHADOWED mb::Metadata __msan_metadata_ptr_for_load_##bytes(const void* address) {       \
    return mb::metadata_of(address, bytes, false);                                           \
  }                                                                                          \
  MB_SHADOWED_CALL mb::Metadata __msan_metadata_ptr_for_store_##bytes(const void* address) { \
    return mb::metadata_of(address, bytes, true, __builtin_return_address(0));               \
  }
MB_METADATA(1)
MB_METADATA(2)
MB_METADATA(4)
MB_METADATA(8)
#undef MB_METADATA
MB_SHADOWED mb::Metadata __msan_metadata_ptr_for_load_n(const void* address, mb::u64 bytes) {
  return mb::metadata_of(address, bytes, false);
}
MB_SHADOWED_CALL mb::Metadata __msan_metadata_ptr_for_store_n(const void* address, mb::u64 bytes) {
  return mb::metadata_of(address, bytes, true, __builtin_return_address(0));
}

MB_SHADOWED void* __msan_get_context_state() { return mb::shadow_state(mb::current())->context; }

MB_SHADOWED_CALL void __msan_poison_alloca(const void* address, mb::u64 bytes, const char* name) {
  mb::Fiber* self = mb::current();
  const mb::u32 origin =
      self->bundle->group->runtime->born(self, name, __builtin_return_address(0));
  const mb::Metadata found = mb::metadata_of(address, bytes, true);
  __builtin_memset(found.shadow, 0xff, bytes);
  mb::set_origins(found.origins, bytes, origin);
}
MB_SHADOWED void __msan_unpoison_alloca(const void* address, mb::u64 bytes) {
  __builtin_memset(mb::metadata_of(address, bytes, true).shadow, 0, bytes);
}
MB_SHADOWED void __msan_set_origin(const void* address, mb::u64 bytes, mb::u32 origin) {
  mb::set_origins(mb::metadata_of(address, bytes, true).origins, bytes, origin);
}
MB_SHADOWED mb::u32 __msan_chain_origin(mb::u32 origin) { return origin; }
MB_SHADOWED void __msan_instrument_asm_store(const void* address, mb::u64 bytes) {
  __builtin_memset(mb::metadata_of(address, bytes, true).shadow, 0, bytes);
}
// Initial value of an uninitialised variable with this name
// (metalbench/msl/transforms/memory_sanitizer.py). An unused call is removed.
#define MB_NOTHING(name, T)                                                        \
  MB_SHADOWED_CALL __attribute__((const)) T mb_nothing_##name(const char* variable) { \
    mb::nothing(variable, __builtin_return_address(0));                            \
    T none{};                                                                      \
    return none;                                                                   \
  }
MB_NOTHING(i8, mb::u8)
MB_NOTHING(i16, mb::u16)
MB_NOTHING(i32, mb::u32)
MB_NOTHING(i64, mb::u64)
MB_NOTHING(half, half)
MB_NOTHING(bfloat, bfloat)
MB_NOTHING(float, float)
MB_NOTHING(double, double)
MB_NOTHING(ptr, void*)
#undef MB_NOTHING

MB_SHADOWED_CALL void __msan_warning(mb::u32 origin) {
  mb::report({mb::Finding::uninitialised, {nullptr, nullptr}, {origin, 0}, nullptr,
              __builtin_return_address(0)});
}

MB_SHADOWED_CALL void* __msan_memmove(void* to, const void* from, mb::u64 bytes) {
  mb::copied(to, from, bytes, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
MB_SHADOWED_CALL void* __msan_memcpy(void* to, const void* from, mb::u64 bytes) {
  mb::copied(to, from, bytes, __builtin_return_address(0));
  return __builtin_memcpy(to, from, bytes);
}
MB_SHADOWED_CALL void* __msan_memset(void* to, int value, mb::u64 bytes) {
  mb::Fiber* self = mb::current();
  const mb::Runtime* runtime = self->bundle->group->runtime;
  runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  runtime->copied(self, to, nullptr, bytes, nullptr);
  return __builtin_memset(to, value, bytes);
}

#undef MB_SHADOWED_CALL
#undef MB_SHADOWED

#endif

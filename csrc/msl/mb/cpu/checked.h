// Callbacks of -fsanitize-coverage in checked builds: all traced loads and stores are reported to
// the runtime.
#pragma once

#include "../sync.h"

#if MB_CHECKED

namespace mb {

// Argument that clang passes.
struct TypeMismatch {
  const char* file;
  u32 line, column;
  const void* type;
  u8 log_alignment;
  u8 use;  // 0 and 1 as in Use; larger values are references, members and others
};

}  // namespace mb

#define MB_TRACE extern "C" [[gnu::visibility("hidden")]] MB_EMITTED MB_UNTRACED

#define MB_TRACED(bytes)                                                  \
  MB_TRACE void __sanitizer_cov_load##bytes(mb::u8* address) {            \
    mb::Fiber* self = mb::current();                                      \
    self->bundle->group->runtime->access(self, address, bytes, mb::AccessKind::read,  \
                                            __builtin_return_address(0)); \
  }                                                                       \
  MB_TRACE void __sanitizer_cov_store##bytes(mb::u8* address) {           \
    mb::Fiber* self = mb::current();                                      \
    self->bundle->group->runtime->access(self, address, bytes, mb::AccessKind::write,   \
                                            __builtin_return_address(0)); \
  }
MB_TRACED(1)
MB_TRACED(2)
MB_TRACED(4)
MB_TRACED(8)
MB_TRACED(16)
#undef MB_TRACED

// Copy or fill of a whole struct, as AddressSanitizer's pass emits it.
MB_TRACE void* __asan_memmove(void* to, const void* from, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  const mb::Runtime* runtime = self->bundle->group->runtime;
  runtime->access(self, from, bytes, mb::AccessKind::copy, __builtin_return_address(0));
  runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
MB_TRACE void* __asan_memcpy(void* to, const void* from, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  const mb::Runtime* runtime = self->bundle->group->runtime;
  runtime->access(self, from, bytes, mb::AccessKind::copy, __builtin_return_address(0));
  runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memcpy(to, from, bytes);
}
MB_TRACE void* __asan_memset(void* to, int value, mb::uptr bytes) {
  mb::Fiber* self = mb::current();
  self->bundle->group->runtime->access(self, to, bytes, mb::AccessKind::write, __builtin_return_address(0));
  return __builtin_memset(to, value, bytes);
}

// Calls of -fsanitize=alignment for scalars, members and references; the front end adds copies of
// whole structs, which clang omits.
MB_TRACE void __ubsan_handle_type_mismatch_v1(const mb::TypeMismatch* what, mb::u8* address) {
  const auto use = what->use <= mb::u8(mb::Use::write) ? mb::Use(what->use) : mb::Use::any;
  mb::misaligned(address, mb::u64(1) << what->log_alignment, use, __builtin_return_address(0));
}
MB_TRACE void __ubsan_handle_alignment_assumption(const void*, mb::u8* address, mb::u64 alignment,
                                                  mb::u64 offset) {
  mb::misaligned(address - offset, alignment, mb::Use::any, __builtin_return_address(0));
}
[[gnu::noinline]] MB_UNTRACED static void mb_misaligned_copy(const void* address, mb::u64 alignment,
                                                             mb::u32 writes) {
  mb::misaligned(address, alignment, mb::Use(writes), __builtin_return_address(0));
}
extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_FUNC MB_UNTRACED void mb_check_alignment(
    const void* address, mb::u64 alignment, mb::u32 writes) {
  const bool is_aligned = (reinterpret_cast<mb::uptr>(address) & (alignment - 1)) == 0;
  if (__builtin_expect(!is_aligned, 0)) mb_misaligned_copy(address, alignment, writes);
}

// Pointer arithmetic: base and result (metalbench/msl/transforms/provenance.py).
MB_TRACE MB_NOT_SHADOWED void mb_moved(const void* from, const void* to) {
  mb::Fiber* self = mb::current();
  if (reinterpret_cast<mb::uptr>(from) - reinterpret_cast<mb::uptr>(self) / mb::stack_bytes * mb::stack_bytes <
      mb::stack_bytes)
    return;
  self->bundle->group->runtime->moved(self, from, to, __builtin_return_address(0));
}

// Bounds of arrays that are members of structs (metalbench/msl/transforms/member_bounds.py): passed from
// a caller to a function, and checked at accesses through a pointer with bounds.
MB_TRACE MB_NOT_SHADOWED void mb_hand(mb::u32 parameter, const void* pointer, const void* low,
                                      mb::u64 bytes) {
  mb::current()->bundle->group->handed[parameter] = {pointer, low, bytes};
}
// The last bounds may be from another call.
MB_TRACE MB_NOT_SHADOWED const void* mb_handed_low(mb::u32 parameter, const void* pointer) {
  const mb::HandedBounds& handed = mb::current()->bundle->group->handed[parameter];
  return handed.pointer == pointer ? handed.low : nullptr;
}
MB_TRACE MB_NOT_SHADOWED mb::u64 mb_handed_bytes(mb::u32 parameter) {
  mb::HandedBounds& handed = mb::current()->bundle->group->handed[parameter];
  handed.pointer = nullptr;
  return handed.bytes;
}
MB_TRACE MB_NOT_SHADOWED void mb_within(const mb::u8* at, const mb::u8* low, mb::u64 bytes,
                                        const char* name) {
  const mb::uptr offset = reinterpret_cast<mb::uptr>(at) - reinterpret_cast<mb::uptr>(low);
  if (low == nullptr || offset < bytes) return;
  const mb::Undefined what{mb::Finding::member, {nullptr, nullptr},
                           {reinterpret_cast<mb::uptr>(low), offset}, name,
                           __builtin_return_address(0)};
  mb::Fiber* self = mb::current();
  self->bundle->group->runtime->undefined(self, &what);
}

namespace mb {
extern "C" {
MB_SECTION_ENDS(ThreadgroupPart, parts_begin, parts_end, mb_parts)
}
}  // namespace mb
extern "C" [[gnu::used, gnu::visibility("default")]] MB_EMITTED MB_UNTRACED
MB_NOT_SHADOWED mb::ThreadgroupParts mb_threadgroup_parts() {
  return {mb::parts_begin, mb::parts_end, mb::threadgroup_begin};
}

// Loads and stores are traced only together with basic blocks, which are not used.
MB_TRACE void __sanitizer_cov_trace_pc_guard(mb::u32*) {}
MB_TRACE void __sanitizer_cov_trace_pc_guard_init(mb::u32*, mb::u32*) {}

#undef MB_TRACE

#endif

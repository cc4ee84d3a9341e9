// What checked builds keep of each stack beside it, where uninitialised values or red zones are
// followed.
#pragma once

#include "abi.h"

namespace mb {

// From Fiber::shadow: for each byte of the stack the bits that nothing has given a value, for each
// four bytes where they were born, for each eight the red zone that they lie in; then ShadowState.
inline constexpr uptr origins_at = stack_bytes;
// Of what was born nowhere that is known; 0 stands for memory that nobody has written to.
inline constexpr u32 unknown_origin = ~0u;

inline constexpr uptr zones_at = 2 * stack_bytes;
inline constexpr uptr state_at = zones_at + stack_bytes / 8;

struct ShadowState {
  // Of clang's: the shadow of parameters and results that pass from call to call.
  alignas(16) u8 context[8192];
  // Of memory that is not followed: what is read has values; what is written comes to a sink, which
  // is looked at when the thread does something else.
  alignas(16) u8 zeros[1024];
  alignas(16) u8 sink[1024];
  alignas(16) u8 sink_origins[1024];
  const void* written;  // where to; null: nowhere
  u64 written_bytes;
  const void* writer;  // where in the code
};

// What of the context a function's result has.
struct ResultShadow {
  u64 parameters[100];
  u64 shadow[100];
  u64 variadic[200];
  u64 overflow;
  u32 parameter_origins[200];
  u32 origin;
};

inline constexpr uptr shadow_bytes = state_at + (sizeof(ShadowState) + 4095) / 4096 * 4096;

[[gnu::always_inline]] inline ShadowState* shadow_state(const Fiber* fiber) {
  return reinterpret_cast<ShadowState*>(fiber->shadow + state_at);
}
// From where the stack of a fiber begins; too large if the address is not in it.
[[gnu::always_inline]] inline uptr offset_in_stack(const Fiber* fiber, const volatile void* address) {
  return reinterpret_cast<uptr>(address) - reinterpret_cast<uptr>(fiber) / stack_bytes * stack_bytes;
}

}  // namespace mb

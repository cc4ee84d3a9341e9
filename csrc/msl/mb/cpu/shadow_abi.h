// Shadow memory of a stack in checked builds that detect uninitialised values or have red zones.
#pragma once

#include "abi.h"

namespace mb {

// Layout from Fiber::shadow: for each byte of the stack the mask of uninitialised bits, for each
// four bytes their origin, for each eight bytes the red zone; then ShadowState.
inline constexpr uptr origins_at = stack_bytes;
// Origin of a value without a known declaration; 0 means memory that was never written.
inline constexpr u32 unknown_origin = ~0u;

inline constexpr uptr zones_at = 2 * stack_bytes;
inline constexpr uptr state_at = zones_at + stack_bytes / 8;

struct ShadowState {
  // MemorySanitizer's context: shadow of parameters and results of calls.
  alignas(16) u8 context[8192];
  // For memory without shadow: reads return initialised values, and writes go to a sink, which is
  // examined at the thread's next operation.
  alignas(16) u8 zeros[1024];
  alignas(16) u8 sink[1024];
  alignas(16) u8 sink_origins[1024];
  const void* written;  // destination; null: none
  u64 written_bytes;
  const void* writer;  // place in the code
};

// Part of the context for a function's result.
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
// Return the offset from the begin of the fiber's stack; too large if the address is outside.
[[gnu::always_inline]] inline uptr offset_in_stack(const Fiber* fiber, const volatile void* address) {
  return reinterpret_cast<uptr>(address) - reinterpret_cast<uptr>(fiber) / stack_bytes * stack_bytes;
}

}  // namespace mb

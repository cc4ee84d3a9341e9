// Binary interface of the cpu device's runtime and a lowered kernel. Included by both: C++17,
// freestanding, no library.
#pragma once

#include "../info.h"

#include "counts.h"
#include "finding.h"

namespace mb {

// Every GPU thread runs on a stack of this size and alignment, with its Fiber near the top: the
// running thread is found from the stack pointer alone, without thread-local storage. Stacks at
// equal offsets would compete for one set of the cache and, a power of two of pages apart, for one
// set of the TLB. So each of a group of neighbours begins a page and two lines lower.
inline constexpr uptr stack_bytes = uptr(1) << 19;
inline constexpr uptr stack_colours = 64;
inline constexpr uptr colour_bytes = 4096 + 128;

// Stack space available to a thread; the lowest has a little more, for functions of the runtime.
// The front end reads this number here.
inline constexpr uptr private_bytes = 220 * 1024;
inline constexpr uptr runtime_bytes = 10 * 1024;
inline constexpr uptr largest_page_bytes = 16384;
static_assert(private_bytes + runtime_bytes + largest_page_bytes + stack_colours * colour_bytes <=
              stack_bytes);

// One dispatch, the same for all of its threads.
struct Launch {
  Dim3 threads_per_grid;
  Dim3 threadgroups_per_grid;
  Dim3 threads_per_threadgroup;  // as dispatched; groups at the grid's edge may have fewer
  void* buffers[max_buffers];
  u32 threadgroup_offset[max_threadgroup_arguments];  // offsets in the arena of dynamic arguments
  const Texture* textures;                            // by index, one for each of the kernel's
  const Sampler* samplers;
};

struct Fiber;
struct Bundle;
struct Group;

// Compute a SIMD-group function for all lanes of `mask`. `operand[lane]` points to that lane's own
// struct of arguments, which receives the result.
using Combine = void (*)(void* const* operand, u32 mask);

// Kind of a memory access. An atomic update reads the memory; an atomic write does not. A copy
// reads a whole struct including its padding. An exchange may be intended as a write only, so its
// memory need not be initialised.
enum class AccessKind : u32 {
  read,
  write,
  atomic_read,
  atomic_write,
  atomic_update,
  atomic_exchange,
  copy
};

// Intended use of misaligned memory.
enum class Use : u32 { read, write, any };

// The flags of metal::mem_flags that matter to a checked build.
inline constexpr u32 mem_device = 1;
inline constexpr u32 mem_threadgroup = 2;
inline constexpr u32 mem_texture = 4;
// Further bits for fences: how they order the calling thread's accesses.
inline constexpr u32 fence_acquires = 1u << 8;
inline constexpr u32 fence_releases = 1u << 9;

// Shadow and origins of some memory; see shadow_abi.h.
struct Metadata {
  u8* shadow;
  u32* origins;
};

// Functions of the runtime that kernels call.
struct Runtime {
  // Called when the calling thread has blocked and no lane of its SIMD-group is ready: release the
  // threads that may continue. Return the stack to continue on; null if it is the caller's own.
  void* (*next)(Fiber*);
  void (*yield)(Fiber*);
  // Checked builds only, directly before the access. `pc` is the place in the code.
  void (*access)(Fiber*, const volatile void* address, u64 bytes, AccessKind kind,
                 const void* pc);
  void (*fail)(Fiber*, const char* what, const void* pc);
  void (*fence)(Fiber*, u32 mem_flags);
  // Make the thread's own writes to the texture visible to it; null: to every texture.
  void (*fence_texels)(Fiber*, const Texture*);
  void (*misaligned)(Fiber*, const void* address, u64 alignment, Use, const void* pc);
  void (*undefined)(Fiber*, const Undefined*);
  // An access through `to`, which was computed from the pointer `from`.
  void (*moved)(Fiber*, const void* from, const void* to, const void* pc);
  // Shadow of memory outside of the thread's stack, number of a declaration, and copies.
  Metadata (*metadata)(const Fiber*, const void* address, u64 bytes, bool is_store,
                       const void* pc);
  u32 (*born)(const Fiber*, const char* name, const void* pc);
  void (*copied)(const Fiber*, const void* to, const void* from, u64 bytes, const void* pc);
  // Counted builds only: an access of `bytes` by the instruction `site`. `turn` is the number of
  // its earlier executions by the thread.
  void (*count)(Fiber*, const volatile void* address, u32 bytes, Counted, u32 site, u32 turn);
};

// A threadgroup variable; all pointers are null if there are none.
struct ThreadgroupPart {
  const u8* storage;
  u64 bytes;
  const char* name;
};
struct ThreadgroupParts {
  const ThreadgroupPart *begin, *end;
  const u8* arena;  // image of the arena that holds the variables' storage
};

// Bounds of an array member, passed from a caller to a function with a pointer into the array.
struct HandedBounds {
  const void* pointer;
  const void* low;
  u64 bytes;
};
inline constexpr u32 max_handed = 8;

struct Group {
  const Runtime* runtime;
  const Launch* launch;
  u8* arena;       // threadgroup memory: static variables, then dynamic arguments
  Dim3 position;   // threadgroup_position_in_grid
  Dim3 size;       // threads in this group
  u32 threads;     // size.x * size.y * size.z
  u32 simdgroups;  // the number of SIMD-groups, rounded up
  u32 fibers;      // one per thread, or one per vector of threads
  HandedBounds handed[max_handed];  // checked builds: valid from a call to the function's begin
};

// Fibers that are scheduled together. If each runs one thread, they are the lanes of a SIMD-group,
// which synchronise in its functions. If each runs (a part of) a SIMD-group, they synchronise at
// barriers only. A live lane is in exactly one of ready, meeting or at_barrier; other lanes are in
// none.
struct Bundle {
  Group* group;
  u32 index;
  u32 lanes;       // mask of existing lanes: all 32 except in the last bundle
  u32 live;        // not returned yet
  u32 ready;       // can run (including the running one)
  u32 meeting;     // waiting in a SIMD-group function
  u32 at_barrier;  // waiting in threadgroup_barrier
  u32 rounds;      // number of completed synchronisations
  u32 device_rounds;  // of these, barriers with mem_device
  bool diverged;   // lanes in `meeting` differ in call site or loop iterations
  const void* meeting_site;
  const u32* meeting_turns;
  // By lane: the saved stack, and for waiting lanes the call site and operand. The site is the
  // return address of the call: lanes at different sites never synchronise. A barrier's operand is
  // its mem_flags.
  void* stack_pointer[simd_width];
  const void* site[simd_width];
  const u32* turns[simd_width];  // see Fiber
  void* operand[simd_width];
  Combine combine[simd_width];
};

inline constexpr u32 no_loop = ~0u;  // after the last of turns

struct alignas(64) Fiber {
  Bundle* bundle;
  u32 lane;       // in the bundle
  u32 index;      // in the group, x fastest; of its first thread if it runs several
  Dim3 position;  // thread_position_in_threadgroup of that thread
  u32 reads;      // of atomic objects; see mb::spin()
  u8* shadow;     // see shadow_abi.h; null in most builds
  u32* executions;  // counted builds: executions of each code segment
  // Loops around the next synchronising call, the outermost first: number and iteration of each,
  // then no_loop. Null if unknown.
  const u32* turns;
};
static_assert(sizeof(Fiber) == 64);

// Prefetch the stack of the lane that runs some switches later: each has a separate page, and most
// of the time of a switch is the cache miss. A spare bundle follows a group's last.
[[gnu::always_inline]] inline void prefetch_stack(const Bundle* bundle, u32 lane) {
  constexpr u32 ahead = 6;
  const u32 later = lane + ahead;
  // A number, because a lane that does not exist has no stack to point into.
  const auto stack =
      reinterpret_cast<uptr>(bundle[later / simd_width].stack_pointer[later % simd_width]);
  __builtin_prefetch(reinterpret_cast<const void*>(stack), 1);
  __builtin_prefetch(reinterpret_cast<const void*>(stack + 64), 1);
}

[[gnu::always_inline]] inline Fiber* fiber_of(uptr sp) {
  const uptr colour = (sp / stack_bytes) % stack_colours;
  return reinterpret_cast<Fiber*>((sp | (stack_bytes - 1)) + 1 - colour * colour_bytes) - 1;
}

[[gnu::always_inline]] inline Fiber* current() {
  uptr sp;
#if defined(__x86_64__)
  asm("movq %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
  asm("mov %0, sp" : "=r"(sp));
#else
#error "the cpu device runs on x86-64 and aarch64"
#endif
  return fiber_of(sp);
}

// C symbols of a kernel's shared object. If it holds several kernels, each has mb_span and mb_info
// with its own suffix.
//
// mb_thread: run one thread of a group on its fiber; for synchronising and checked kernels.
// mb_lanes:  run a fixed number of threads of a group on one fiber.
// mb_span:   run `count` consecutive threadgroups (x fastest) from number `first`; for kernels
//            without synchronisation. Called on a fiber, so that current() is valid.
// mb_info:   return the kernel's description (a function: the linker determines parts of it).
using ThreadEntry = void (*)(const Launch*, const Group*, const Fiber*);
using SpanEntry = void (*)(const Launch*, Group*, u64 first, u64 count);

// Checked builds: mb_threadgroup_parts.
using PartsEntry = ThreadgroupParts (*)();
using InfoEntry = const struct Info* (*)();

}  // namespace mb

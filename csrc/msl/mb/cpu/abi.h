// What the cpu device's runtime and a lowered kernel agree on. Included by both: C++17, freestanding, no
// library.
#pragma once

#include "../info.h"

#include "counts.h"
#include "finding.h"

namespace mb {

// Every GPU thread runs on a stack of this size and alignment, with its Fiber near the top: so the
// running thread is found from the stack pointer alone, without thread-local storage. Stacks that
// all began at the same offset would fight for one set of the cache and, a power of two of pages
// apart, for one set of the TLB; so each of a run of neighbours begins a page and two lines lower.
inline constexpr uptr stack_bytes = uptr(1) << 19;
inline constexpr uptr stack_colours = 64;
inline constexpr uptr colour_bytes = 4096 + 128;

// What a thread may keep on its stack: the lowest has a little more, where the runtime's own
// functions run. The front end reads it here.
inline constexpr uptr private_bytes = 220 * 1024;
inline constexpr uptr runtime_bytes = 10 * 1024;
inline constexpr uptr largest_page_bytes = 16384;
static_assert(private_bytes + runtime_bytes + largest_page_bytes + stack_colours * colour_bytes <=
              stack_bytes);

// One dispatch, as every thread of it sees it.
struct Launch {
  Dim3 threads_per_grid;
  Dim3 threadgroups_per_grid;
  Dim3 threads_per_threadgroup;  // as dispatched; a group at the edge may have fewer
  void* buffers[max_buffers];
  u32 threadgroup_offset[max_threadgroup_arguments];  // into the arena, dynamic arguments
  const Texture* textures;                            // by index, as many as the kernel has
  const Sampler* samplers;
};

struct Fiber;
struct Bundle;
struct Group;

// Computes a SIMD-group function for the lanes of `mask` at once. `operand[lane]` points to that
// lane's own struct of arguments; the result is written back into it.
using Combine = void (*)(void* const* operand, u32 mask);

// What a thread does to memory. An atomic update reads what is there; an atomic write does not. A
// copy reads a whole struct with whatever lies between its members. An exchange may be meant to
// write only: what it reads need not be there.
enum class AccessKind : u32 {
  read,
  write,
  atomic_read,
  atomic_write,
  atomic_update,
  atomic_exchange,
  copy
};

// What misaligned memory was about to be used for.
enum class Use : u32 { read, write, any };

// metal::mem_flags, as far as it matters to a checked build.
inline constexpr u32 mem_device = 1;
inline constexpr u32 mem_threadgroup = 2;
inline constexpr u32 mem_texture = 4;
// Of fences, beside these: what they order the calling thread's accesses with.
inline constexpr u32 fence_acquires = 1u << 8;
inline constexpr u32 fence_releases = 1u << 9;

// What of some memory has no value, and where that was born; see shadow_abi.h.
struct Metadata {
  u8* shadow;
  u32* origins;
};

// What the runtime does for a kernel.
struct Runtime {
  // The calling thread has blocked and no lane of its SIMD-group is ready: releases who may go on.
  // Returns the stack to continue on; null if it is the caller's own.
  void* (*next)(Fiber*);
  void (*yield)(Fiber*);
  // Checked builds only, right before the access. `pc` is where that is.
  void (*access)(Fiber*, const volatile void* address, u64 bytes, AccessKind kind,
                 const void* pc);
  void (*fail)(Fiber*, const char* what, const void* pc);
  void (*fence)(Fiber*, u32 mem_flags);
  // The thread's own writes to the texture are to be seen by it; null: to every texture.
  void (*fence_texels)(Fiber*, const Texture*);
  void (*misaligned)(Fiber*, const void* address, u64 alignment, Use, const void* pc);
  void (*undefined)(Fiber*, const Undefined*);
  // An access through `to`, which was computed from the pointer `from`.
  void (*moved)(Fiber*, const void* from, const void* to, const void* pc);
  // Where memory that is not the thread's own is followed, a declaration's number, and copies.
  Metadata (*metadata)(const Fiber*, const void* address, u64 bytes, bool is_store,
                       const void* pc);
  u32 (*born)(const Fiber*, const char* name, const void* pc);
  void (*copied)(const Fiber*, const void* to, const void* from, u64 bytes, const void* pc);
  // Counted builds only: an access of `bytes`, by the instruction that is `site` of the kernel. `turn`
  // is how often the thread has run it before.
  void (*count)(Fiber*, const volatile void* address, u32 bytes, Counted, u32 site, u32 turn);
};

// A threadgroup variable; where there are none, all pointers are null.
struct ThreadgroupPart {
  const u8* storage;
  u64 bytes;
  const char* name;
};
struct ThreadgroupParts {
  const ThreadgroupPart *begin, *end;
  const u8* arena;  // the image of it that the variables' storage lies in
};

// Of a pointer into an array that is a member, what a caller hands to a function with it.
struct HandedBounds {
  const void* pointer;
  const void* low;
  u64 bytes;
};
inline constexpr u32 max_handed = 8;

struct Group {
  const Runtime* runtime;
  const Launch* launch;
  u8* arena;       // threadgroup memory: static variables first, then the dynamic arguments
  Dim3 position;   // threadgroup_position_in_grid
  Dim3 size;       // threads in this group
  u32 threads;     // size.x * size.y * size.z
  u32 simdgroups;  // rounded up
  u32 fibers;      // that run them: one a thread, or one for as many as a vector has lanes
  HandedBounds handed[max_handed];  // of checked builds: from a call to where it begins
};

// Fibers that are scheduled together. Where each runs one thread, they are the lanes of a SIMD-group,
// which meet in its functions; where each runs a SIMD-group or a part of one, they are as many of
// these, and meet at barriers only. Lanes are in exactly one of ready, meeting, at_barrier, or (not
// live) none.
struct Bundle {
  Group* group;
  u32 index;
  u32 lanes;       // mask of those that exist: all 32 but for the last bundle of a group
  u32 live;        // have not returned
  u32 ready;       // can run (the running one included)
  u32 meeting;     // wait in a SIMD-group function
  u32 at_barrier;  // wait in threadgroup_barrier
  u32 rounds;      // how many meetings were released
  u32 device_rounds;  // and how many of them were barriers with mem_device
  bool diverged;   // the lanes in `meeting` are not all at one site and in the same turns of loops
  const void* meeting_site;
  const u32* meeting_turns;
  // By lane: where to continue, and for those that wait, where and with what. The site is the return
  // address of the call: lanes at different sites never meet. A barrier's operand is its mem_flags.
  void* stack_pointer[simd_width];
  const void* site[simd_width];
  const u32* turns[simd_width];  // see Fiber
  void* operand[simd_width];
  Combine combine[simd_width];
};

inline constexpr u32 no_loop = ~0u;  // behind the last of turns

struct alignas(64) Fiber {
  Bundle* bundle;
  u32 lane;       // of the bundle
  u32 index;      // in the group, x fastest, of the thread; of the first one, where it runs several
  Dim3 position;  // thread_position_in_threadgroup of the same
  u32 reads;      // of atomics; see mb::spin()
  u8* shadow;     // see shadow_abi.h; null in most builds
  u32* executions;  // of counted builds: how often it has run each segment of code
  // Of the loops around the call that it comes to next, the outermost first, the number and the turn
  // of each, and no_loop; null if they are not known.
  const u32* turns;
};
static_assert(sizeof(Fiber) == 64);

// Fetches the stack of the lane that comes some switches after this one: each has a page of its own,
// and most of what a switch costs is waiting for it. There is a spare bundle after a group's last.
[[gnu::always_inline]] inline void prefetch_stack(const Bundle* bundle, u32 lane) {
  constexpr u32 ahead = 6;
  const u32 later = lane + ahead;
  // A number, because a lane that never was has no stack to point into.
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

// A kernel's shared object exports these by C name; where several kernels lie in one, each of them has
// mb_span and mb_info with an ending of its own.
//
// mb_thread: run one thread of a group, on its own fiber; of kernels that synchronise, and of checked
//            builds.
// mb_lanes:  run as many threads of a group as the shared object is made for, on one fiber.
// mb_span:   run `count` consecutive threadgroups (x fastest) from number `first`; only of kernels
//            that need no synchronisation. Called on a fiber, so that current() is valid.
// mb_info:   what the compiler found out (a function, because some of it is known to the linker only).
using ThreadEntry = void (*)(const Launch*, const Group*, const Fiber*);
using SpanEntry = void (*)(const Launch*, Group*, u64 first, u64 count);

// Of checked builds: mb_threadgroup_parts.
using PartsEntry = ThreadgroupParts (*)();
using InfoEntry = const struct Info* (*)();

}  // namespace mb

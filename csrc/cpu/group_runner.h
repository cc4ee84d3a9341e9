// Execution of threadgroups on one worker: one fiber for each GPU thread, or for each vector of
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/counter.h"
#include "cpu/fault.h"
#include "cpu/launch.h"
#include "cpu/memory_check.h"
#include "cpu/private_shadow.h"
#include "cpu/stacks.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

class GroupRunner {
 public:
  GroupRunner();

  // State of a threadgroup. `waiting`: it spins for a condition that only another threadgroup can
  // fulfil, so another threadgroup must run meanwhile.
  enum class Progress { done, waiting, faulty };

  // Run `count` consecutive threadgroups, x fastest, of a kernel without synchronisation.
  [[nodiscard]] Progress run_span(const Launch& launch, std::uint64_t first, std::uint64_t count);
  // Run one threadgroup until it is done or waits.
  [[nodiscard]] Progress run_group(const Launch& launch, std::uint64_t number);
  // Resume the waiting threadgroup.
  [[nodiscard]] Progress resume();

  // Call before the first threadgroup of a launch; `run` is unique to each launch of each run.
  void begin(std::uint64_t run) {
    run_ = run;
    is_new_ = true;
  }

  [[nodiscard]] const Fault& fault() const { return fault_; }
  // Return the position of a waiting threadgroup that will not resume, from its last check.
  [[nodiscard]] Fault stopped() const;
  void clear_fault();

  // For signal handlers: return whether the address lies in a GPU thread's stack.
  [[nodiscard]] bool on_fiber(const void* stack_pointer) const {
    return stacks_ != nullptr && stacks_->contains(stack_pointer);
  }
  [[nodiscard]] bool in_guard(const void* address) const { return stacks_->in_guard(address); }
  // Abandon the running GPU thread and return the stack on which to continue.
  [[nodiscard]] void* abandon(Fault::Kind kind, const void* pc, const void* address,
                              const void* stack_pointer);

 private:
  // Connection from a fiber to its runner, through its SIMD-group's group.
  struct Group : mb::Group {
    GroupRunner* runner;
  };

  static const mb::Runtime runtime;
  static GroupRunner& of(const mb::Fiber* fiber) {
    return *static_cast<Group*>(fiber->bundle->group)->runner;
  }
  static void* next_stack(mb::Fiber*);
  static void yield(mb::Fiber*);
  static void access(mb::Fiber*, const volatile void*, mb::u64 bytes, mb::AccessKind,
                     const void* pc);
  static void fail(mb::Fiber*, const char* what, const void* pc);
  static void fence(mb::Fiber*, mb::u32 mem_flags);
  static void fence_texels(mb::Fiber*, const mb::Texture*);
  static void misaligned(mb::Fiber*, const void* address, mb::u64 alignment, mb::Use,
                         const void* pc);
  static void undefined(mb::Fiber*, const mb::Undefined*);
  static void moved(mb::Fiber*, const void* from, const void* to, const void* pc);
  static mb::Metadata metadata(const mb::Fiber*, const void* address, mb::u64 bytes, bool is_store,
                               const void* pc);
  static mb::u32 born(const mb::Fiber*, const char* name, const void* pc);
  static void copied(const mb::Fiber*, const void* to, const void* from, mb::u64 bytes,
                     const void* pc);
  void check_written(const mb::Fiber*);
  void check_private(mb::Fiber* fiber, const MemoryAccess& access);
  [[nodiscard]] bool is_of_one(const mb::Undefined& member) const;
  void blame(const PrivateShadow::Origin&);
  [[nodiscard]] const void* place_of(const void* pc);
  static void count(mb::Fiber*, const volatile void* address, mb::u32 bytes, mb::Counted,
                    mb::u32 site, mb::u32 execution);
  MB_NEVER_RETURNS static void fiber_main();
  MB_NEVER_RETURNS static void span_main();

  void prepare(const Launch& launch);
  void poison_arena();
  void lay_out(mb::Dim3 size, std::uint32_t threads_per_fiber);
  void start_group(std::uint64_t number);
  void start_bundle();
  void start_counting(std::uint64_t number);
  [[nodiscard]] const std::byte* arena() const {
    return reinterpret_cast<const std::byte*>(group_.arena);
  }
  [[nodiscard]] static std::uint32_t mask_of_first(std::uint32_t lanes) {
    return lanes >= mb::simd_width ? ~0u : (1u << lanes) - 1;
  }
  [[nodiscard]] std::uint32_t bundles() const {
    return (group_.fibers + mb::simd_width - 1) / mb::simd_width;
  }
  [[nodiscard]] Progress enter(void* stack);
  mb::Bundle* next_bundle(mb::Bundle* bundle);
  mb::Bundle* next_ready(std::uint32_t index);
  mb::Bundle* release_barrier();
  void check_barrier();
  void place(const mb::Fiber* fiber, const void* pc);
  // Record the callers of the fiber's code, starting at a frame of the runtime on its stack.
  void trace(const void* frame);
  // Record the fault in the findings of a run that continues after it. Return false without
  // findings.
  [[nodiscard]] bool note();
  [[noreturn]] void stop(const mb::Fiber* fiber, const void* pc);
  [[noreturn]] void stop();
  // End this thread only; barriers no longer wait for it.
  [[noreturn]] void stop_thread(mb::Fiber* fiber);
  // Continue with another fiber and never return.
  [[noreturn]] void leave(mb::Fiber* fiber);

  std::unique_ptr<Stacks> stacks_;
  std::unique_ptr<PrivateShadow> shadow_;  // null until a module needs it
  std::uint32_t fibers_ = 0;
  void* own_stack_ = nullptr;  // the worker's own saved stack while fibers run
  // One more than a group needs, for mb::prefetch_stack().
  std::array<mb::Bundle, 33> bundles_{};
  std::array<std::uint32_t, 33> stopped_{};  // by bundle: mask of threads that a fault has ended
  std::uint32_t started_ = 0;                // bundles of the group with initialised stacks
  Group group_{};
  mb::Dim3 laid_out_{};
  std::uint32_t threads_per_fiber_ = 1;
  const Launch* launch_ = nullptr;
  const GroupEntry* entry_ = nullptr;  // entry point of the current group
  std::uint32_t idle_yields_ = 0;      // yields since the last progress of any thread of the group
  void* waiting_stack_ = nullptr;      // saved stack of the thread to resume
  std::uint64_t span_first_ = 0;
  std::uint64_t span_count_ = 0;
  std::unique_ptr<std::byte[]> arena_storage_;
  std::uint64_t run_ = 0;
  bool is_new_ = true;  // whether no threadgroup of the launch has run here
  std::uint32_t poisons_ = 0;
  std::unique_ptr<MemoryCheck> memory_check_;
  const void* checked_ = nullptr;  // return address of the last call to a check
  GroupCounts counts_;
  Fault fault_;
};

}  // namespace metalbench::cpu

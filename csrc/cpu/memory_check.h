// Checked runs: each access of a kernel is checked here before it happens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu/fault.h"
#include "cpu/launch.h"
#include "cpu/memory_check_access.h"
#include "cpu/memory_check_region.h"
#include "cpu/memory_check_segments.h"
#include "cpu/texel_fences.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Checks bounds of buffers and threadgroup memory, reads of uninitialised memory, and data races:
// in threadgroup memory, and in device memory also across threadgroups.
class MemoryCheck {
 public:
  MemoryCheck(const mb::u8* arena, std::uint32_t arena_capacity);

  // Prepare for the threadgroups of launch run `run`.
  void begin(const Launch& launch, std::uint64_t run);
  void start_group(const mb::Group& group, std::uint64_t number);
  // Record a barrier of all threads of the group.
  void barrier(std::uint32_t mem_flags);
  // Record a fence; `mem_flags` are the memory kinds that it orders.
  void fence(std::uint32_t mem_flags, std::uint32_t thread);
  // Record a fence for the thread's own writes to a texture; null: to all textures.
  void fence_texels(const mb::Texture* texture, std::uint32_t thread);
  // Return the mem_flags of the thread's own fences since the last barrier.
  [[nodiscard]] std::uint32_t fences_of(std::uint32_t thread) const { return fenced_[thread]; }

  // Return false if an earlier undecided access turns out to be a race. Call before each access and
  // at the end of the group.
  [[nodiscard]] bool settles(Fault& fault) { return !undecided_.access || is_settled(fault); }
  // Return false if the access is a fault, and describe it in `fault`.
  [[nodiscard]] bool allows(const MemoryAccess& access, Fault& fault);
  // Return false if `to` lies in other memory of the kernel than the pointer `from`, its origin.
  [[nodiscard]] bool stays(const std::byte* from, const std::byte* to, Fault& fault) const;
  // Return whether both lie in the same buffer or in the same threadgroup variable.
  [[nodiscard]] bool is_of_one(const std::byte* first, const std::byte* second) const;
  // Return whether the address belongs to the kernel's memory; otherwise describe it in `fault`.
  [[nodiscard]] bool is_known(const Misaligned& what, Fault& fault) const;
  // Return whether a faulty access can be executed, because it stays in the kernel's own memory.
  [[nodiscard]] bool is_harmless(const MemoryAccess& access) const;
  // Return the marks of unwritten memory from this address on; null without marks.
  [[nodiscard]] const Storage::Unwritten* unwritten(const void* address, std::uint64_t bytes) const;

 private:
  // Clock of threadgroup memory: each runner has its own memory, and only barriers order accesses.
  struct ArenaClock {
    static constexpr bool is_shared = false;
    std::uint32_t epoch = 1;
    void advance() {
      epoch = epoch + 1 == Mark::segments ? 1 : epoch + 1;
      happens_before.start();
    }
    HappensBefore happens_before{};
    [[nodiscard]] bool is_over(const Mark& mark, std::uint32_t thread) const {
      return mark.segment() != epoch || happens_before.is_over(mark, thread);
    }
    [[nodiscard]] static bool is_own(std::uint32_t) { return true; }
    [[nodiscard]] bool is_concurrent(std::uint32_t segment) const { return segment == epoch; }
  };

  // Two threads write to the same bytes. C++ calls this a race for any values. But kernels that
  // cover the end of a row by overlapping tiles depend on it, including MLX's, and GPUs execute it
  // without harm. So it counts as a race only if the second write changes the value. That is
  // visible at the next access of any thread of the group.
  struct UndecidedWrite {
    std::optional<MemoryAccess> access;
    AccessConflict conflict;
    bool is_arena = false;
    std::vector<std::byte> before;
  };

  // Record the happens-before edges that an access to an atomic object may create.
  void note_atomic(const MemoryAccess& access, bool is_device);
  [[nodiscard]] bool reports_same(const MemoryAccess& access, Fault& fault);
  // Check the fence between a thread's own write of a texel and its read.
  [[nodiscard]] bool is_fenced(const Range& range, const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool is_aligned(const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] bool allows_now(const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool allows_conflict(const MemoryAccess& access, const AccessConflict& conflict,
                                     bool is_arena, Fault& fault);
  [[nodiscard]] bool is_settled(Fault& fault);
  void blame(const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] bool allows_range(const Range& range, const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool allows_arena(const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool is_written(const Range& range, const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] bool is_written_in_group(const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool stays_in_arena(const std::byte* from, const std::byte* to, Fault& fault) const;
  [[nodiscard]] const Range* nearest(const std::byte* address) const;
  [[nodiscard]] bool report_unlisted(const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] static bool report_null(const MemoryAccess& access, Fault& fault);
  void report_constant(const Range& range, const MemoryAccess& access, Fault& fault) const;
  void report_stray(const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] const Range& range_of(const MemoryAccess& access) const;
  void report_race(const MemoryAccess& access, const AccessConflict& conflict, Fault& fault) const;
  void report_arena_race(const MemoryAccess& access, const AccessConflict& conflict,
                         Fault& fault) const;
  [[nodiscard]] std::string name_of(std::uint32_t segment, std::uint32_t thread) const;

  const Launch* launch_ = nullptr;
  const mb::Group* group_ = nullptr;
  const std::byte* arena_ = nullptr;
  std::size_t last_range_ = 0;
  const std::byte* module_page_ = nullptr;
  GroupClock device_clock_;
  ArenaClock arena_clock_;
  Region arena_region_;
  std::uint32_t group_serial_ = 0;
  std::vector<std::uint32_t> written_by_;  // by byte of threadgroup memory: serial of the group
  std::array<std::uint32_t, mb::max_threads> fenced_{};
  TexelFences texel_fences_;
  UndecidedWrite undecided_;
};

}  // namespace metalbench::cpu

// Checked runs: every access of a kernel is asked about here before it happens.
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

// Bounds of buffers and of threadgroup memory; memory that is read before anybody wrote to it;
// accesses of two threads to the same bytes that nothing orders, in threadgroup memory and, also
// across threadgroups, in device memory.
class MemoryCheck {
 public:
  MemoryCheck(const mb::u8* arena, std::uint32_t arena_capacity);

  // For the threadgroups to come, of launch run `run`.
  void begin(const Launch& launch, std::uint64_t run);
  void start_group(const mb::Group& group, std::uint64_t number);
  // All threads of the group have met.
  void barrier(std::uint32_t mem_flags);
  // With the bits that say what it orders.
  void fence(std::uint32_t mem_flags, std::uint32_t thread);
  // Of the thread's own writes to a texture; null: to every one.
  void fence_texels(const mb::Texture* texture, std::uint32_t thread);
  // The mem_flags of the thread's own fences since the last barrier.
  [[nodiscard]] std::uint32_t fences_of(std::uint32_t thread) const { return fenced_[thread]; }

  // False when the kernel must not have done what it was doubtful about before. To be asked before
  // each access, and at the end of the group.
  [[nodiscard]] bool settles(Fault& fault) { return !doubt_.access || is_settled(fault); }
  // False when the kernel must not do it; `fault` then says what, where and who.
  [[nodiscard]] bool allows(const MemoryAccess& access, Fault& fault);
  // False when `to` lies in other memory of the kernel's than the pointer that it comes from.
  [[nodiscard]] bool stays(const std::byte* from, const std::byte* to, Fault& fault) const;
  // Whether both lie in the same buffer, or the same variable of threadgroup memory.
  [[nodiscard]] bool is_of_one(const std::byte* first, const std::byte* second) const;
  // Whether it is memory of the kernel's; `fault` then says what is wrong with it.
  [[nodiscard]] bool is_known(const Misaligned& what, Fault& fault) const;
  // Whether the access can be done all the same: nothing but the kernel's own memory is touched.
  [[nodiscard]] bool is_harmless(const MemoryAccess& access) const;
  // The marks of memory that nothing has written to, from this address on; null for all else.
  [[nodiscard]] const Storage::Unwritten* unwritten(const void* address, std::uint64_t bytes) const;

 private:
  // Of threadgroup memory: each runner has its own, and only barriers order its accesses.
  struct ArenaClock {
    static constexpr bool is_shared = false;
    std::uint32_t epoch = 1;
    void advance() {
      epoch = epoch + 1 == Mark::segments ? 1 : epoch + 1;
      handover.start();
    }
    Handover handover{};
    [[nodiscard]] bool is_over(const Mark& mark, std::uint32_t thread) const {
      return mark.segment() != epoch || handover.is_over(mark, thread);
    }
    [[nodiscard]] static bool is_own(std::uint32_t) { return true; }
    [[nodiscard]] bool is_concurrent(std::uint32_t segment) const { return segment == epoch; }
  };

  // Two threads write to the same bytes. C++ calls that a race whatever they write; but kernels
  // that cover the end of a row by overlapping tiles live by it, MLX's among them, and no GPU does
  // harm to them. So it is one if the second write changes anything, which shows at the next access
  // of any thread of the group.
  struct Doubt {
    std::optional<MemoryAccess> access;
    Clash clash;
    bool is_arena = false;
    std::vector<std::byte> before;
  };

  // What the thread may hand over, or be handed, by an access to an atomic object.
  void note_atomic(const MemoryAccess& access, bool is_device);
  [[nodiscard]] bool reports_same(const MemoryAccess& access, Fault& fault);
  // Of texels that a thread has written itself.
  [[nodiscard]] bool is_fenced(const Range& range, const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool is_aligned(const MemoryAccess& access, Fault& fault) const;
  [[nodiscard]] bool allows_now(const MemoryAccess& access, Fault& fault);
  [[nodiscard]] bool allows_clash(const MemoryAccess& access, const Clash& clash, bool is_arena,
                                  Fault& fault);
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
  void report_race(const MemoryAccess& access, const Clash& clash, Fault& fault) const;
  void report_arena_race(const MemoryAccess& access, const Clash& clash, Fault& fault) const;
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
  Doubt doubt_;
};

}  // namespace metalbench::cpu

// Shadow memory of private memory in checked builds that detect uninitialised values or have red
// zones. msl/mb/cpu/shadow_abi.h defines its layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/buffer.h"
#include "cpu/memory_check_reserved.h"
#include "cpu/stacks.h"
#include "msl/mb/cpu/shadow_abi.h"

namespace metalbench::cpu {

class PrivateShadow {
 public:
  // Declaration of a variable without an initial value.
  struct Origin {
    const char* name = nullptr;
    const void* pc = nullptr;
  };

  struct Written {
    const std::byte* at;
    Origin origin;
    const void* pc;
  };

  PrivateShadow(const Stacks& stacks, std::uint32_t count, mb::u8* arena,
                std::uint32_t arena_bytes);

  [[nodiscard]] mb::u8* of(std::uint32_t fiber) const {
    return memory_.as<mb::u8>() + fiber * mb::shadow_bytes;
  }
  [[nodiscard]] bool contains(const std::byte* address) const;

  // Begin a module with different variables.
  void begin();
  // Mark the threadgroup memory as uninitialised.
  void start_group(std::uint32_t arena_bytes);

  // Return the origin of a variable. Without a name: the result of a SIMD-group function for a lane
  // that reads an inactive lane.
  [[nodiscard]] std::uint32_t born(const char* name, const void* pc);
  [[nodiscard]] Origin origin(std::uint32_t number) const;
  // Return the shadow of memory outside of the thread's own stack.
  [[nodiscard]] mb::Metadata metadata(const mb::Fiber* fiber, const void* address,
                                      std::uint64_t bytes, bool is_store, const void* pc);
  // Clear the red zones of the frames from `frame` on, of a thread that ends early.
  static void forget_zones(const mb::Fiber* fiber, const void* frame);
  // Clear the red zones of all threads.
  void forget_all_zones() { is_abandoned_ = true; }
  // Mark threadgroup memory as initialised after a write of uninstrumented code, such as an atomic.
  void given(const void* address, std::uint64_t bytes);
  // Copy the shadow of `from` to `to`; without `from`, mark all bytes as initialised. `unwritten`
  // has one mark for each unwritten byte of device memory.
  void copy(const mb::Fiber* fiber, const void* to, const void* from, std::uint64_t bytes,
            const void* pc, const Storage::Unwritten* unwritten = nullptr);
  // Return the uninitialised part of the value that a thread last wrote to memory without shadow.
  [[nodiscard]] std::optional<Written> take_written(const mb::Fiber* fiber);

 private:
  // Null: memory without shadow.
  [[nodiscard]] mb::Metadata followed(const void* address) const;
  [[nodiscard]] bool is_in_arena(const void* address) const {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(arena_);
    return offset < 4 * arena_shadow_.size();
  }
  // Mark unwritten bytes as initialised after a read, because the read itself is reported.
  static void forget_unwritten(const mb::Metadata& of, std::uint64_t bytes);

  const Stacks& stacks_;
  std::uint32_t count_;
  mb::u8* arena_;
  Reserved memory_;
  std::vector<mb::u32> arena_shadow_, arena_origins_;
  std::vector<Origin> origins_;
  bool is_abandoned_ = false;
};

}  // namespace metalbench::cpu

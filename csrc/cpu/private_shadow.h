// What is known of private memory in checked builds that follow uninitialised values or have red
// zones; its layout is in msl/mb/cpu/shadow_abi.h.
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
  // Where a value was declared without being given one.
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

  // Another module's variables are to come.
  void begin();
  // Nothing of the threadgroup's memory is given yet.
  void start_group(std::uint32_t arena_bytes);

  // Without a name: what a SIMD-group function gives a lane that asks for what is not there.
  [[nodiscard]] std::uint32_t born(const char* name, const void* pc);
  [[nodiscard]] Origin origin(std::uint32_t number) const;
  // Of memory that is not of this thread's own stack.
  [[nodiscard]] mb::Metadata metadata(const mb::Fiber* fiber, const void* address,
                                      std::uint64_t bytes, bool is_store, const void* pc);
  // A thread ends in the middle: the red zones of its frames, from `frame` on, are none any more.
  static void forget_zones(const mb::Fiber* fiber, const void* frame);
  // So do all threads, wherever they are.
  void forget_all_zones() { is_abandoned_ = true; }
  // What is given to the threadgroup's memory by what is not instrumented, such as an atomic.
  void given(const void* address, std::uint64_t bytes);
  // The shadow of `from` becomes that of `to`; without `from`, all values are given. `unwritten`
  // has a mark for each byte of device memory that nothing has written to.
  void copy(const mb::Fiber* fiber, const void* to, const void* from, std::uint64_t bytes,
            const void* pc, const Storage::Unwritten* unwritten = nullptr);
  // What of the value that a thread last wrote to memory that is not followed was never given.
  [[nodiscard]] std::optional<Written> take_written(const mb::Fiber* fiber);

 private:
  // Null: it is not followed.
  [[nodiscard]] mb::Metadata followed(const void* address) const;
  [[nodiscard]] bool is_in_arena(const void* address) const {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(arena_);
    return offset < 4 * arena_shadow_.size();
  }
  // What nobody has written to is told of as it is read: as values, those bytes count as given.
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

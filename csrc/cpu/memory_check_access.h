#pragma once

#include <cstddef>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// A memory access of a thread that is about to happen.
struct MemoryAccess {
  const std::byte* begin;
  std::uint64_t bytes;
  mb::AccessKind kind;
  const mb::Fiber* thread;
  const void* pc;  // return address of the call to the check

  [[nodiscard]] const char* verb() const { return writes() ? "write" : "read"; }
  [[nodiscard]] mb::Use use() const { return writes() ? mb::Use::write : mb::Use::read; }
  [[nodiscard]] bool atomic() const {
    return kind == mb::AccessKind::atomic_read || kind == mb::AccessKind::atomic_write ||
           kind == mb::AccessKind::atomic_update || kind == mb::AccessKind::atomic_exchange;
  }
  // Return whether the bytes must be initialised.
  [[nodiscard]] bool reads() const {
    return kind != mb::AccessKind::write && kind != mb::AccessKind::atomic_write &&
           kind != mb::AccessKind::atomic_exchange;
  }
  // Return whether a fence after this access orders the thread after other threads.
  [[nodiscard]] bool acquires() const { return atomic() && kind != mb::AccessKind::atomic_write; }
  [[nodiscard]] bool writes() const {
    return kind != mb::AccessKind::read && kind != mb::AccessKind::copy &&
           kind != mb::AccessKind::atomic_read;
  }
};

// A misaligned pointer that a thread is about to use.
struct Misaligned {
  const std::byte* begin;
  std::uint64_t alignment;
  mb::Use use;
  bool is_private;  // in the thread's private memory

  [[nodiscard]] const char* noun() const {
    constexpr const char* nouns[] = {"read", "write", "use"};
    return nouns[static_cast<std::uint32_t>(use)];
  }
};

}  // namespace metalbench::cpu

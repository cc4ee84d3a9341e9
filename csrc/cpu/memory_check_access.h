#pragma once

#include <cstddef>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// What a thread is about to do to memory.
struct MemoryAccess {
  const std::byte* begin;
  std::uint64_t bytes;
  mb::AccessKind kind;
  const mb::Fiber* thread;
  const void* pc;  // where the call to the check returns

  [[nodiscard]] const char* verb() const { return writes() ? "write" : "read"; }
  [[nodiscard]] mb::Use use() const { return writes() ? mb::Use::write : mb::Use::read; }
  [[nodiscard]] bool atomic() const {
    return kind == mb::AccessKind::atomic_read || kind == mb::AccessKind::atomic_write ||
           kind == mb::AccessKind::atomic_update || kind == mb::AccessKind::atomic_exchange;
  }
  // Whether what is read must be there.
  [[nodiscard]] bool reads() const {
    return kind != mb::AccessKind::write && kind != mb::AccessKind::atomic_write &&
           kind != mb::AccessKind::atomic_exchange;
  }
  // Whether a fence after it orders this thread behind others.
  [[nodiscard]] bool acquires() const { return atomic() && kind != mb::AccessKind::atomic_write; }
  [[nodiscard]] bool writes() const {
    return kind != mb::AccessKind::read && kind != mb::AccessKind::copy &&
           kind != mb::AccessKind::atomic_read;
  }
};

// What a thread is about to use, although its type belongs elsewhere.
struct Misaligned {
  const std::byte* begin;
  std::uint64_t alignment;
  mb::Use use;
  bool is_private;  // of the thread's own memory

  [[nodiscard]] const char* noun() const {
    constexpr const char* nouns[] = {"read", "write", "use"};
    return nouns[static_cast<std::uint32_t>(use)];
  }
};

}  // namespace metalbench::cpu

#pragma once

#include <cstddef>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// What a thread is about to do to memory.
struct Access {
  const std::byte* begin;
  std::uint64_t bytes;
  mb::AccessKind kind;
  const mb::Fiber* thread;
  const void* pc;  // where the call to the check returns

  [[nodiscard]] const char* verb() const { return writes() ? "write" : "read"; }
  [[nodiscard]] bool atomic() const {
    return kind == mb::AccessKind::atomic_read || kind == mb::AccessKind::atomic_write ||
           kind == mb::AccessKind::atomic_update;
  }
  [[nodiscard]] bool reads() const {
    return kind != mb::AccessKind::write && kind != mb::AccessKind::atomic_write;
  }
  [[nodiscard]] bool writes() const {
    return kind != mb::AccessKind::read && kind != mb::AccessKind::copy &&
           kind != mb::AccessKind::atomic_read;
  }
};

}  // namespace metalbench::cpu

#pragma once

#include <array>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// What stopped a kernel. Plain data: filled in by signal handlers and on the stacks of GPU threads.
struct Fault {
  enum class Kind : std::uint8_t {
    none,
    reported,     // by a check; `text` says what
    bad_address,  // SIGSEGV, SIGBUS
    no_address,   // likewise, and nobody knows which
    stack_overflow,
    arithmetic,  // SIGFPE: an integer division by zero
    illegal,     // SIGILL: a trap
    stopped,     // from outside: time limit or Ctrl-C
  };

  Kind kind = Kind::none;
  const void* pc = nullptr;
  const void* address = nullptr;
  bool has_thread = false;
  mb::Dim3 thread{};
  bool has_simdgroup = false;  // where its threads are not told apart
  std::uint32_t simdgroup = 0;
  mb::Dim3 threadgroup{};
  mb::Finding finding = mb::Finding::other;  // of what was reported
  const void* born = nullptr;                // where a value was declared that it lacks
  std::array<char, 512> text{};
  bool names_thread = false;  // whether `text` does

  explicit operator bool() const { return kind != Kind::none; }
};

}  // namespace metalbench::cpu

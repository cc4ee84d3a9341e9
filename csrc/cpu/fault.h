#pragma once

#include <array>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// What a kernel may not do, as findings are called by. What reports a fault says which it is.
enum class Rule : std::uint8_t {
  fault,  // none of those below
  out_of_bounds,
  wild_pointer,  // null, freed, or of no buffer that the kernel has
  write_to_constant,
  write_to_input,
  misaligned,
  texture_bounds,  // of a texture: Metal defines it
  stack_overflow,
  uninitialised,
  race,
  texture_fence,    // a thread reads its own texel too early
  same_value_race,  // threads that write the same: harmless on GPUs
  barrier,
  simdgroup,
  assertion,
  division,
  shift,
  overflow,
  float_cast,
  signed_overflow,
  trap,
  time_limit,
};

// As users write it: "out-of-bounds".
[[nodiscard]] const char* rule_name(Rule rule);

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
  Rule rule = Rule::fault;
  const void* pc = nullptr;
  // Where the last call to a check returns: what is stopped from outside may be in the check.
  const void* checked = nullptr;
  const void* address = nullptr;
  bool has_thread = false;
  mb::Dim3 thread{};
  bool has_simdgroup = false;  // where its threads are not told apart
  std::uint32_t simdgroup = 0;
  mb::Dim3 threadgroup{};
  std::array<char, 512> text{};
  std::array<char, 64> variable{};  // whose value it is about, if that is known,
  const void* born = nullptr;       // and where that was declared; or the other access, or barrier
  // Where the functions that led to `pc` were called, the innermost first; null behind the last.
  std::array<const void*, 8> callers{};
  bool names_thread = false;     // whether `text` does
  const void* memory = nullptr;  // where the buffer begins that it is about, if it is about one

  explicit operator bool() const { return kind != Kind::none; }
};

// That of its kind, where no check has said which.
[[nodiscard]] Rule rule_of(const Fault& fault);
[[nodiscard]] Rule rule_of(mb::Finding finding);

}  // namespace metalbench::cpu

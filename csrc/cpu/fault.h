#pragma once

#include <array>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Rules that findings report. Each fault carries its rule.
enum class Rule : std::uint8_t {
  fault,  // any other fault
  out_of_bounds,
  wild_pointer,  // null, freed, or outside of all buffers of the kernel
  write_to_constant,
  write_to_input,
  misaligned,
  texture_bounds,  // of a texture: defined behaviour in Metal
  stack_overflow,
  uninitialised,
  race,
  texture_fence,    // a thread reads its own texel write without a fence
  same_value_race,  // threads write the same value: harmless on GPUs
  barrier,
  simdgroup,
  assertion,
  division,
  shift,
  overflow,
  float_cast,
  signed_overflow,
  special_value,  // an infinity or NaN in arithmetic with fast math
  trap,
  time_limit,
};

// Return the rule's name in the user interface, such as "out-of-bounds".
[[nodiscard]] const char* rule_name(Rule rule);

// The error that stopped a kernel. Plain data: signal handlers and GPU threads' stacks write it.
struct Fault {
  enum class Kind : std::uint8_t {
    none,
    reported,     // by a check; see `text`
    bad_address,  // SIGSEGV, SIGBUS
    no_address,   // the same, at an unknown address
    stack_overflow,
    arithmetic,  // SIGFPE: an integer division by zero
    illegal,     // SIGILL: a trap
    stopped,     // stopped from outside: time limit or Ctrl-C
  };

  Kind kind = Kind::none;
  Rule rule = Rule::fault;
  const void* pc = nullptr;
  // Return address of the last call to a check: a stop from outside may interrupt the check.
  const void* checked = nullptr;
  const void* address = nullptr;
  bool has_thread = false;
  mb::Dim3 thread{};
  bool has_simdgroup = false;  // false if threads are not identified
  std::uint32_t simdgroup = 0;
  mb::Dim3 threadgroup{};
  std::array<char, 512> text{};
  std::array<char, 64> variable{};  // the variable of the value, if known
  const void* born = nullptr;       // its declaration; or the place of the other access or barrier
  // Return addresses of the callers of `pc`, the innermost first; null after the last.
  std::array<const void*, 8> callers{};
  bool names_thread = false;     // whether `text` names the thread
  const void* memory = nullptr;  // begin of the buffer in question, if any

  explicit operator bool() const { return kind != Kind::none; }
};

// Return the default rule of a fault's kind, for faults without a check's rule.
[[nodiscard]] Rule rule_of(const Fault& fault);
[[nodiscard]] Rule rule_of(mb::Finding finding);

}  // namespace metalbench::cpu

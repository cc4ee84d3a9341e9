// Accesses of a thread's own memory that no variable of it has.
#pragma once

#include <array>
#include <cstdint>

#include "msl/mb/cpu/shadow_abi.h"

namespace metalbench::cpu {

// Whether some bytes of the fiber's own stack all belong to a variable; if not, `text` says beside
// which they lie.
[[nodiscard]] bool allows_private(const mb::Fiber* fiber, const std::byte* begin,
                                  std::uint64_t bytes, const char* verb,
                                  std::array<char, 512>& text);

}  // namespace metalbench::cpu

// Checks of private memory accesses outside of variables.
#pragma once

#include <array>
#include <cstdint>

#include "msl/mb/cpu/shadow_abi.h"

namespace metalbench::cpu {

// Return whether bytes of the fiber's own stack all belong to one variable; otherwise write the
// name of the nearest variable to `text`.
[[nodiscard]] bool allows_private(const mb::Fiber* fiber, const std::byte* begin,
                                  std::uint64_t bytes, const char* verb,
                                  std::array<char, 512>& text);

}  // namespace metalbench::cpu

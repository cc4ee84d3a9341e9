// Reports of texture accesses outside of the texture: Metal defines their result, but they are
// rarely intended.
#pragma once

#include <array>
#include <span>

#include "cpu/launch.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Describe in `text` the missing texel and its texture, one of those in `ranges`.
void describe(const mb::OutsideTexel& what, std::span<const Range> ranges,
              std::array<char, 512>& text);

// Return the memory of the texture; null if it is not one of `ranges`.
[[nodiscard]] const Range* texture_range(const mb::Texture& texture, std::span<const Range> ranges);

}  // namespace metalbench::cpu

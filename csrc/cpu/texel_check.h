// Accesses of textures beside their texels: Metal says what comes of them, and hardly anybody means
// them.
#pragma once

#include <array>
#include <span>

#include "cpu/launch.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// `text` says which texel of which of the textures in `ranges` there is not.
void describe(const mb::OutsideTexel& what, std::span<const Range> ranges,
              std::array<char, 512>& text);

// The memory of that texture; null where it is none of `ranges`.
[[nodiscard]] const Range* texture_range(const mb::Texture& texture, std::span<const Range> ranges);

}  // namespace metalbench::cpu

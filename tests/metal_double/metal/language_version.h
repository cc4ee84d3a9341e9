#pragma once

namespace metal_double {

// Of the library that was compiled last, as 3.2; 0 before.
[[nodiscard]] double last_language_version();

// Of the same library: 0 is safe, 1 relaxed, 2 fast.
[[nodiscard]] double last_math_mode();

}  // namespace metal_double

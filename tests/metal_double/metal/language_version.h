#pragma once

namespace metal_double {

// Of the library that was compiled last, as 3.2; 0 before.
[[nodiscard]] double last_language_version();

}  // namespace metal_double

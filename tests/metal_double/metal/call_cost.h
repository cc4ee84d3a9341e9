#pragma once

namespace metal_double {

// What one call of an encoder costs inside of the double, in ns: measured now.
[[nodiscard]] double encoder_call_ns();

}  // namespace metal_double

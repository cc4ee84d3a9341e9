#pragma once

#include <span>

namespace metalbench {

// The resolution of a clock: the greatest common divisor of the differences between these times
// (ns, in any order), which are rounded to doubles. At least 1 ns, also where they tell nothing.
[[nodiscard]] double clock_tick_ns(std::span<const double> stamps_ns);

}  // namespace metalbench

#pragma once

#include <span>

namespace metalbench {

// Estimate the resolution of a clock in ns: the greatest common divisor of the differences between
// these times (ns, in any order, rounded to doubles). The result is at least 1 ns, also for too few
// times.
[[nodiscard]] double clock_tick_ns(std::span<const double> stamps_ns);

}  // namespace metalbench

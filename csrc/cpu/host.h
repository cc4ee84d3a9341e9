// Facts about the machine we run on.
#pragma once

#include <string>

namespace metalbench::cpu {

[[nodiscard]] std::string processor_name();
// The smallest step of the clock that is ever seen, in ns.
[[nodiscard]] double clock_tick_ns();

}  // namespace metalbench::cpu

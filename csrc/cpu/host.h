// Facts about the machine we run on.
#pragma once

#include <cstdint>
#include <string>

namespace metalbench::cpu {

[[nodiscard]] std::string processor_name();
// How many workers suit this process: the cores that it may use.
[[nodiscard]] std::uint32_t usable_cores();
// The smallest step of the clock that is ever seen, in ns.
[[nodiscard]] double clock_tick_ns();

}  // namespace metalbench::cpu

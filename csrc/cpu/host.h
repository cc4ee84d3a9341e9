// Facts about the host machine.
#pragma once

#include <cstdint>
#include <string>

namespace metalbench::cpu {

[[nodiscard]] std::string processor_name();
// Return the number of workers for this process: the cores that it may use.
[[nodiscard]] std::uint32_t usable_cores();
// Return the smallest observed step of the clock, in ns.
[[nodiscard]] double clock_tick_ns();

}  // namespace metalbench::cpu

#pragma once

#include <optional>

namespace metalbench::executor {

// Return the processor time of all threads of a process so far, in ns; nothing if the system does
// not report it.
[[nodiscard]] std::optional<double> processor_time_ns(int process);

// Return whether a process has, or has had, child processes; false if the system does not report
// it.
[[nodiscard]] bool has_children(int process);

}  // namespace metalbench::executor

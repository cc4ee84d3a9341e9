#pragma once

#include <optional>

namespace metalbench::executor {

// How much of the processors' time a process has taken so far, all of its threads together, in ns;
// nothing where the system does not tell.
[[nodiscard]] std::optional<double> processor_time_ns(int process);

// Whether a process has, or has had, processes of its own; false where the system does not tell.
[[nodiscard]] bool has_children(int process);

}  // namespace metalbench::executor

// Options of a sampling plan from Python keyword arguments.
#pragma once

#include <nanobind/nanobind.h>

#include "core/sampling.h"

// Fields of SamplePlan as keyword arguments, for the stub.
#define PLAN_OPTIONS                                                                           \
  "max_pairs: int = 256, min_pairs: int = 16, window_ns: float = 1e6, max_window_ns: float = " \
  "5e7, candidate_window: int = 0, reference_window: int = 0, passes_per_command_buffer: int " \
  "= 0, warmup_ns: float = 2e8, "                                                              \
  "time_limit_ns: float = 2e9, seed: int = 0, candidate_repeats: int = 1, reference_repeats: " \
  "int = 1, probe_every: int = 10, probe_drop: float = 0.03, best_probe_ns: float = 0.0, "     \
  "retries: int = 3, cool_ns: float = 2e9, long_windows: int = 0"

namespace metalbench::bindings {

// Throws DispatchError for an invalid value, ArgumentTypeError for an unknown option.
[[nodiscard]] SamplePlan plan_from(const nanobind::kwargs& options);

}  // namespace metalbench::bindings

// The double's GPU clock: the host's monotonic one in steps of 24 MHz, as on Apple's GPUs.
#pragma once

#include <time.h>

#include <cmath>
#include <cstdint>

namespace metal_double {

constexpr double tick_hz = 24e6;
constexpr double tick_ns = 1e9 / tick_hz;
// Counters count the same ticks from another start, so that nobody mistakes one for the other.
constexpr std::int64_t counter_offset = 3'000'000'000;

[[nodiscard]] inline std::uint64_t host_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

[[nodiscard]] inline std::int64_t to_ticks(double ns) { return std::llround(ns / tick_ns); }

[[nodiscard]] inline double to_seconds(std::int64_t ticks) {
  return static_cast<double>(ticks) / tick_hz;
}

}  // namespace metal_double

// The double's GPU clock: the host's monotonic one in steps of 24 MHz, as on Apple's GPUs.
#pragma once

#include <time.h>

#include <cmath>
#include <cstdint>

namespace metal_double {

constexpr double tick_hz = 24e6;
constexpr double tick_ns = 1e9 / tick_hz;
// Counters count the same ticks from another start, so that one cannot be mistaken for the other.
constexpr std::int64_t counter_offset = 3'000'000'000;

[[nodiscard]] inline std::uint64_t host_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// To within a microsecond or so: the last part of the time is spun.
inline void wait_until_ns(std::uint64_t deadline) {
  constexpr std::uint64_t spun_ns = 150'000;  // later than that a sleeper may be woken
  if (deadline > host_ns() + spun_ns) {
    const std::uint64_t woken = deadline - spun_ns;
    const timespec at{static_cast<time_t>(woken / 1'000'000'000),
                      static_cast<long>(woken % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
  while (host_ns() < deadline) {
  }
}

[[nodiscard]] inline std::int64_t to_ticks(double ns) { return std::llround(ns / tick_ns); }

[[nodiscard]] inline double to_ns(std::int64_t ticks) {
  return static_cast<double>(ticks) * tick_ns;
}

[[nodiscard]] inline double to_seconds(std::int64_t ticks) {
  return static_cast<double>(ticks) / tick_hz;
}

}  // namespace metal_double

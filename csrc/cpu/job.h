#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "cpu/launch.h"
#include "cpu/pool.h"

namespace metalbench::cpu {

using Clock = std::chrono::steady_clock;

// State shared by the workers during a list of launches. All workers process the launches in the
// same order; within a launch they take threadgroups from a common counter.
struct Pool::Job {
  Job(std::span<const std::unique_ptr<Launch>> list, std::uint32_t passes_, std::uint32_t workers)
      : launches(list), passes(passes_) {
    std::uint64_t most = launches.empty() ? workers : 1;
    for (const auto& launch : launches) most = std::max(most, launch->groups);
    participants = static_cast<std::uint32_t>(std::min<std::uint64_t>(workers, most));
    missing = participants;
    running = participants;
  }

  // Return the number of threadgroups per take: large enough for little contention on the counter
  // and long loops, small enough for an even distribution.
  [[nodiscard]] std::uint64_t chunk(const Launch& launch) const {
    if (participants == 1) return std::max<std::uint64_t>(1, launch.groups);
    constexpr std::uint64_t shares = 16;
    return std::max<std::uint64_t>(1, launch.groups / (std::uint64_t{participants} * shares));
  }

  // Barrier of all participants; the last one runs `last` before the others continue.
  template <typename Last>
  void meet(Last last) {
    const std::uint32_t round = rounds.load(std::memory_order_acquire);
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      last();
      missing.store(participants, std::memory_order_relaxed);
      rounds.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr int patience = 4000;
    for (int spins = 0; rounds.load(std::memory_order_acquire) == round; ++spins) {
      if (spins > patience) std::this_thread::yield();
    }
  }

  std::span<const std::unique_ptr<Launch>> launches;
  std::uint32_t passes;
  std::uint32_t participants;
  std::chrono::nanoseconds least{};  // minimum duration for each worker
  Clock::time_point start;
  Clock::time_point end;

  alignas(64) std::atomic<std::uint64_t> cursor{0};
  alignas(64) std::atomic<std::uint32_t> missing;
  alignas(64) std::atomic<std::uint32_t> rounds{0};
  alignas(64) std::atomic<bool> aborted{false};
  std::uint32_t running;  // guarded by the pool's mutex
  Fault fault;            // guarded by the pool's mutex
  std::size_t faulty_launch = 0;
};

}  // namespace metalbench::cpu

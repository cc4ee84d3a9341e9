// Facts about the host machine.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace metalbench::cpu {

[[nodiscard]] std::string processor_name();
// Return the number of workers for this process: the cores that it may use.
[[nodiscard]] std::uint32_t usable_cores();
// Return the smallest observed step of the clock, in ns.
[[nodiscard]] double clock_tick_ns();

// Distributes the threads of a job over the cores. The scheduler of Linux can place threads that
// are woken together on one core, and separates them milliseconds later, when a short job has
// ended there.
class CoreClaims {
 public:
  // Claim the core of the calling thread for `job`, a number that increases. If another thread of
  // the job has claimed it, move to an unclaimed core; later the thread may leave it again.
  void claim(std::uint64_t job);

 private:
  std::array<std::atomic<std::uint64_t>, 1024> jobs_{};  // the last job that claimed each core
};

}  // namespace metalbench::cpu

#include "cpu/host.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace metalbench::cpu {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (colon != std::string::npos && line.starts_with("model name")) return line.substr(colon + 2);
  }
#if defined(__aarch64__)
  return "aarch64 processor";
#else
  return "x86-64 processor";
#endif
}

std::uint32_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void CoreClaims::claim(std::uint64_t job) {
  const int here = sched_getcpu();
  if (here < 0 || static_cast<std::size_t>(here) >= jobs_.size()) return;
  if (jobs_[static_cast<std::size_t>(here)].exchange(job) != job) return;
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  for (std::size_t core = 0; core < jobs_.size(); ++core) {
    if (!CPU_ISSET(core, &usable)) continue;
    std::uint64_t last = jobs_[core];
    if (last == job || !jobs_[core].compare_exchange_strong(last, job)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    // The first call moves the thread. The second allows the scheduler to move it again.
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof usable, &usable);
    return;
  }
}

}  // namespace metalbench::cpu

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

}  // namespace metalbench::cpu

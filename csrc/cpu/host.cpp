#include "cpu/host.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace metalbench::cpu {

#if defined(__APPLE__)
std::string processor_name() {
  char name[256] = {};
  std::size_t size = sizeof name;
  if (sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) != 0) return "Apple";
  return name;
}
#else
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
#endif

double clock_tick_ns() {
  using Clock = std::chrono::steady_clock;
  double smallest = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto before = Clock::now();
    auto after = before;
    while (after == before) after = Clock::now();
    smallest = std::min(smallest, std::chrono::duration<double, std::nano>(after - before).count());
  }
  return smallest;
}

}  // namespace metalbench::cpu

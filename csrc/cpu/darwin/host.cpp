#include "cpu/host.h"

#include <sys/sysctl.h>

#include <algorithm>
#include <thread>

namespace metalbench::cpu {

std::string processor_name() {
  char name[256] = {};
  std::size_t size = sizeof name;
  if (sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) != 0) return "Apple";
  return name;
}

std::uint32_t usable_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// macOS has no affinity, and its scheduler distributes threads when it wakes them.
void CoreClaims::claim(std::uint64_t) {}

}  // namespace metalbench::cpu

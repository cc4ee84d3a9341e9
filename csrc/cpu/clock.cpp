#include <algorithm>
#include <chrono>

#include "cpu/host.h"

namespace metalbench::cpu {

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

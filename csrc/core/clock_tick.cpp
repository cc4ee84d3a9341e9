#include "core/clock_tick.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace metalbench {
namespace {

constexpr double finest_ns = 1;

// A length and its maximum error.
struct Measured {
  double ns = 0;
  double error = 0;
};

// Return whether the error is small enough to determine a quotient by this length.
bool is_sharp(const Measured& length) { return length.error < length.ns / 3; }

// Euclid's algorithm, which ends when the remainder is not above its own error.
Measured common_divisor(Measured larger, Measured smaller) {
  while (true) {
    if (smaller.ns > larger.ns) std::swap(larger, smaller);
    const double times = std::round(larger.ns / smaller.ns);
    const Measured rest{std::abs(larger.ns - times * smaller.ns),
                        larger.error + times * smaller.error};
    if (rest.ns > rest.error) {
      larger = smaller;
      smaller = rest;
      continue;
    }
    // The larger length gives a finer estimate if the quotient is certain.
    if (rest.error < smaller.ns / 3) return {larger.ns / times, larger.error / times};
    return smaller;
  }
}

// Return differences between sorted neighbours.
std::vector<double> differences(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  for (std::size_t i = sorted.size(); i-- > 1;) sorted[i] -= sorted[i - 1];
  if (!sorted.empty()) sorted.erase(sorted.begin());
  return sorted;
}

// In ascending order: short lengths are few ticks, so that their quotients are certain.
std::vector<Measured> lengths(std::span<const double> stamps_ns) {
  double latest = 0;
  for (const double stamp : stamps_ns) latest = std::max(latest, std::abs(stamp));
  // Both stamps are rounded twice: as seconds and as nanoseconds.
  const double error = 2 * latest * std::numeric_limits<double>::epsilon();
  const std::vector<double> first = differences(stamps_ns);
  const std::vector<double> second = differences(first);
  std::vector<Measured> found;
  for (const double length : first) found.push_back({length, error});
  for (const double length : second) found.push_back({length, 2 * error});
  std::erase_if(
      found, [](const Measured& length) { return length.ns < finest_ns / 2 || !is_sharp(length); });
  std::ranges::sort(found, {}, &Measured::ns);
  return found;
}

}  // namespace

double clock_tick_ns(std::span<const double> stamps_ns) {
  Measured tick;
  for (const Measured& length : lengths(stamps_ns)) {
    const Measured divisor = tick.ns == 0 ? length : common_divisor(length, tick);
    if (is_sharp(divisor)) tick = divisor;
  }
  return std::max(tick.ns, finest_ns);
}

}  // namespace metalbench

// Prints the resolution of a clock whose times, in seconds, are on the standard input.
#include "core/clock_tick.h"

#include <iostream>
#include <vector>

int main() {
  std::vector<double> stamps_ns;
  for (double seconds = 0; std::cin >> seconds;) stamps_ns.push_back(seconds * 1e9);
  std::cout << metalbench::clock_tick_ns(stamps_ns) << '\n';
}

// Paired sampling: decides what to run next and when to stop. Knows no device and no clock; both
// stand behind Window, so that a scripted one can drive it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace metalbench {

// Runs `passes` repetitions to completion and returns how long they took together, in ns.
using Window = std::function<double(std::uint32_t passes)>;

struct SamplePlan {
  std::uint32_t max_pairs = 256;
  std::uint32_t min_pairs = 16;
  double window_ns = 1e6;       // a window lasts at least this long
  double max_window_ns = 50e6;  // and is not grown beyond this
  double tick_ns = 1;           // a window is at least 1000 ticks
  double warmup_ns = 200e6;
  double time_limit_ns = 2e9;  // no pair starts after it, once min_pairs are there; or after
                               // four times as long, once seven are there
  std::uint64_t seed = 0;
};

struct Samples {
  // Per single pass in ns, one for each pair.
  std::vector<double> candidate_ns;
  std::vector<double> reference_ns;
  std::vector<double> floor_ns;  // the null program, a few windows
  std::vector<bool> candidate_first;
  std::uint32_t candidate_window = 0;  // passes in a window
  std::uint32_t reference_window = 0;
  double tick_ns = 0;
  double elapsed_ns = 0;
};

struct Sources {
  Window candidate;
  Window reference;  // may be empty: then there are no pairs, just samples
  Window floor;      // may be empty
  std::function<double()> now_ns;
  std::function<void(std::uint32_t done, std::uint32_t total)> progress;  // may be empty
};

[[nodiscard]] Samples sample(const Sources& sources, const SamplePlan& plan);

}  // namespace metalbench

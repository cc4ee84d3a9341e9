// Paired sampling: decides what to run next and when to stop. Knows no device and no clock; both
// stand behind Source, so that a scripted one can drive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device.h"

namespace metalbench {

// What is timed: hands over windows of `passes` repetitions.
struct Source {
  std::function<std::unique_ptr<Running>(std::uint32_t passes)> start;  // may be empty
  bool queued = false;  // whether a window may be started while others still run

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(start); }
};

// Both sides of a pair are timed by the same one.
enum class Clock { device, wall };

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
  // Per single pass in ns on `clock`, one for each pair.
  std::vector<double> candidate_ns;
  std::vector<double> reference_ns;
  std::vector<double> floor_ns;  // the null program, a few windows
  Clock clock = Clock::device;
  // The candidate's same windows otherwise: Timing's fields, per single pass.
  std::vector<double> device_ns;
  std::vector<double> counter_ns;
  std::vector<double> wall_ns;
  std::vector<double> encode_ns;  // per window
  std::vector<bool> candidate_first;
  std::uint32_t candidate_window = 0;  // passes in a window
  std::uint32_t reference_window = 0;
  double tick_ns = 0;
  double elapsed_ns = 0;
};

struct Sources {
  Source candidate;
  Source reference;  // may be empty: then there are no pairs, just samples
  Source floor;      // may be empty
  Clock clock = Clock::device;
  std::function<double()> now_ns;
  std::function<void(std::uint32_t done, std::uint32_t total)> progress;  // may be empty
};

[[nodiscard]] Samples sample(const Sources& sources, const SamplePlan& plan);

}  // namespace metalbench

// Paired sampling: decides what to run next and when to stop. Knows no device and no clock; both
// stand behind Source, so that a scripted one can drive it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/flight.h"

namespace metalbench {

// The one that windows are made long enough for, and that says when a source has settled: `wall`
// where a side may have no other. Both sides are timed by both.
enum class Clock { device, wall };

struct SamplePlan {
  std::uint32_t max_pairs = 256;
  std::uint32_t min_pairs = 16;
  double window_ns = 1e6;              // a window lasts at least this long
  double max_window_ns = 50e6;         // and is not grown beyond this
  std::uint32_t candidate_window = 0;  // passes, as an earlier look has found them; 0 finds them,
  std::uint32_t reference_window = 0;  // and times empty windows
  // The limit of the candidate's windows, as an earlier look has found it; 0 finds it. A boundary of
  // command buffers costs GPU time. Both sides must pay it for the same number of passes.
  std::uint32_t passes_per_command_buffer = 0;
  double tick_ns = 1;                  // a window is at least 1000 ticks
  double warmup_ns = 200e6;
  double time_limit_ns = 2e9;  // after the warm-up: no pair starts later, once min_pairs are there;
                               // or four times as late, once seven are there
  std::uint64_t seed = 0;
  std::uint32_t candidate_repeats = 1;  // how often a pass of a side's source does the work
  std::uint32_t reference_repeats = 1;
  std::uint32_t probe_every = 10;  // pairs
  double probe_drop = 0.03;        // slower by more is throttling; 0 looks at no probe
  double best_probe_ns = 0;        // of what was sampled before; 0 where nothing was
  std::uint32_t retries = 3;       // after throttling, before giving up
  double cool_ns = 2e9;
  std::uint32_t long_windows = 0;  // of four times the passes, of both sides, to compare with
};

// Windows of one kind on both clocks, per single pass in ns.
struct Times {
  std::vector<double> device_ns;
  std::vector<double> wall_ns;

  [[nodiscard]] const std::vector<double>& on(Clock clock) const {
    return clock == Clock::device ? device_ns : wall_ns;
  }
};

struct Samples {
  Times candidate;  // one for each pair; so is what follows
  Times reference;
  std::vector<double> counter_ns;  // the candidate's: Timing's, per single pass
  std::vector<double> encode_ns;   // and per window
  Times floor;                     // the null program, a few windows
  Times long_candidate;            // windows of four times the passes
  Times long_reference;
  Clock clock = Clock::device;
  std::vector<bool> candidate_first;
  std::vector<double> probe_ns;  // on the device's clock
  // Directly after each long window of a side: what clock the side leaves the device at.
  std::vector<double> probe_after_candidate_ns;
  std::vector<double> probe_after_reference_ns;
  double best_probe_ns = 0;
  std::uint32_t candidate_window = 0;  // passes in a window
  std::uint32_t reference_window = 0;
  // The limit of the candidate's windows; 0 if the device chose.
  std::uint32_t passes_per_command_buffer = 0;
  double reference_passes_per_command_buffer = 0;  // on average; 0 if unknown
  std::uint32_t discarded = 0;  // pairs that were throttled
  std::uint32_t retries = 0;    // used up
  bool throttled = false;       // in spite of all retries
  double tick_ns = 0;
  double warmup_ns = 0;  // until the first pair
  double elapsed_ns = 0;
};

struct Sources {
  Source candidate;
  Source reference;  // may be empty: then there are no pairs, just samples
  Source floor;      // may be empty
  Source probe;      // work of a fixed length in registers alone; may be empty
  Clock clock = Clock::device;
  std::function<double()> now_ns;
  std::function<void(double ns)> rest;  // leaves the device alone for so long
  std::function<void(std::uint32_t done, std::uint32_t total)> progress;  // may be empty
};

[[nodiscard]] Samples sample(const Sources& sources, const SamplePlan& plan);

}  // namespace metalbench

// Paired sampling: decides what to run next and when to stop. It depends on no device and no clock;
// WindowSource supplies both, so that tests can use a scripted one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/window_queue.h"

namespace metalbench {

// The clock that determines the window length and the end of the warm-up. `wall` if a side has no
// device clock. Both sides are timed with both clocks.
enum class Clock { device, wall };

struct SamplePlan {
  std::uint32_t max_pairs = 256;
  std::uint32_t min_pairs = 16;
  double window_ns = 1e6;              // minimum length of a window
  double max_window_ns = 50e6;         // maximum length of a window
  std::uint32_t candidate_window = 0;  // passes, known from an earlier batch; 0: determine them
  std::uint32_t reference_window = 0;  // and time empty windows
  // Pass limit of the candidate's command buffers, known from an earlier batch; 0: determine it. A
  // boundary between command buffers costs GPU time, so both sides need the same limit.
  std::uint32_t passes_per_command_buffer = 0;
  double tick_ns = 1;  // a window lasts at least 1000 ticks
  double warmup_ns = 200e6;
  double time_limit_ns = 2e9;  // after the warm-up: no pair starts later, once min_pairs are there;
                               // or four times as late, once seven are there
  std::uint64_t seed = 0;
  std::uint32_t candidate_repeats = 1;  // executions of the work in one pass of the side's source
  std::uint32_t reference_repeats = 1;
  std::uint32_t probe_every = 10;  // pairs between two probes
  double probe_drop = 0.03;        // larger slowdowns are throttling; 0: no probes
  double best_probe_ns = 0;        // fastest probe of earlier batches; 0 without any
  std::uint32_t retries = 3;       // after throttling, until sampling stops
  double cool_ns = 2e9;
  std::uint32_t long_windows = 0;  // of each side: comparison windows of four times the passes
};

// Durations of one kind of window on both clocks, per pass in ns.
struct Times {
  std::vector<double> device_ns;
  std::vector<double> wall_ns;

  [[nodiscard]] const std::vector<double>& on(Clock clock) const {
    return clock == Clock::device ? device_ns : wall_ns;
  }
};

struct Samples {
  Times candidate;  // one per pair, as in the following members
  Times reference;
  std::vector<double> counter_ns;  // counter_ns of the candidate's Timing, per pass
  std::vector<double> encode_ns;   // per window
  Times floor;                     // a few windows of the null program
  Times long_candidate;            // windows of four times the passes
  Times long_reference;
  Clock clock = Clock::device;
  std::vector<bool> candidate_first;
  std::vector<double> probe_ns;  // on the device's clock
  // Directly after each long window of a side: shows the clock rate after its work.
  std::vector<double> probe_after_candidate_ns;
  std::vector<double> probe_after_reference_ns;
  double best_probe_ns = 0;
  std::uint32_t candidate_window = 0;  // passes in a window
  std::uint32_t reference_window = 0;
  // Pass limit of the candidate's command buffers; 0 if the device chose.
  std::uint32_t passes_per_command_buffer = 0;
  double reference_passes_per_command_buffer = 0;  // mean; 0 if unknown
  std::uint32_t discarded = 0;                     // throttled pairs
  std::uint32_t retries = 0;                       // number of retries
  bool throttled = false;                          // after all retries
  double tick_ns = 0;
  double warmup_ns = 0;  // time until the first pair
  double elapsed_ns = 0;
};

struct WindowSources {
  WindowSource candidate;
  WindowSource reference;  // may be empty: samples of the candidate alone
  WindowSource floor;      // may be empty
  WindowSource probe;      // fixed work in registers; may be empty
  Clock clock = Clock::device;
  std::function<double()> now_ns;
  std::function<void(double ns)> rest;  // leave the device idle for this time
  std::function<void(std::uint32_t done, std::uint32_t total)> progress;  // may be empty
};

[[nodiscard]] Samples sample(const WindowSources& sources, const SamplePlan& plan);

}  // namespace metalbench

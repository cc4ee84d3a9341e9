#include "core/warmup.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace metalbench {
namespace {

constexpr std::uint32_t most_passes = 1u << 20;
constexpr double min_ticks = 1000;
// The clock is stable when the median changes by less than this, or by less than the windows'
// noise, from one quarter of the windows to the next. With fewer windows, a slow drift would look
// stable.
constexpr double settled = 0.01;
constexpr std::size_t fewest_windows = 8;

struct Length {
  std::uint32_t passes;
  double elapsed_ns;  // of the last window
};

// Find a window long enough for the clock: grow it by the missing factor, at most tenfold.
Length calibrate(const WindowSource& source, Clock clock, const SamplePlan& plan) {
  const double wanted =
      std::min(std::max(plan.window_ns, min_ticks * plan.tick_ns), plan.max_window_ns);
  std::uint32_t passes = 1;
  while (true) {
    const double elapsed = std::max(on(clock, source.start(passes)->wait()), 1.0);
    if (elapsed >= wanted || passes >= most_passes) return {passes, elapsed};
    const double factor = std::clamp(1.1 * wanted / elapsed, 1.2, 10.0);
    const double grown = std::ceil(passes * factor);
    passes = static_cast<std::uint32_t>(std::min<double>(grown, most_passes));
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Return the standard deviation of the difference between the medians of two groups of windows. The
// spread of windows is estimated from differences between neighbours, which are robust to a
// drifting clock.
double noise_of_step(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> steps;
  for (const auto* run : {&first, &second}) {
    for (std::size_t i = 1; i < run->size(); ++i) {
      steps.push_back(std::abs((*run)[i] - (*run)[i - 1]));
    }
  }
  if (steps.empty()) return 0;
  // 0.954: median of the absolute difference of two standard normal values. 1.253: ratio of the
  // standard errors of median and mean.
  const double spread = median(steps) / 0.954;
  return 1.253 * spread * std::sqrt(2.0 / static_cast<double>(first.size()));
}

// Return whether the medians of the last two groups of windows agree.
bool has_settled(const std::vector<double>& seen) {
  if (seen.size() < 2) return false;
  const auto n = static_cast<std::ptrdiff_t>(
      std::min(std::max(fewest_windows, seen.size() / 4), seen.size() / 2));
  const std::vector<double> last(seen.end() - n, seen.end());
  const std::vector<double> before(seen.end() - 2 * n, seen.end() - n);
  const double moved = std::abs(median(last) - median(before));
  return moved < std::max(settled * median(before), noise_of_step(before, last));
}

}  // namespace

double on(Clock clock, const Timing& timing) {
  return clock == Clock::device ? timing.device_ns : timing.wall_ns;
}

void warm_up_again(const WindowSource& source, std::uint32_t passes, const WindowSources& sources,
                   double warmup_ns) {
  const double start = sources.now_ns();
  std::vector<double> seen;
  WindowQueue queue;
  while (true) {
    queue.start(source, passes,
                [&](const Timing& timing) { seen.push_back(on(sources.clock, timing)); });
    const double spent = sources.now_ns() - start;
    const bool enough = spent >= warmup_ns || spent < 0;
    // A source that does not become stable is measured as it is; its drift is reported.
    if (enough && (spent >= 5 * warmup_ns || has_settled(seen))) break;
  }
  queue.complete_all();
}

std::uint32_t warm_up(const WindowSource& source, const WindowSources& sources,
                      const SamplePlan& plan, double warmup_ns) {
  const Length cold = calibrate(source, sources.clock, plan);
  // If a pass takes seconds, each further pass costs seconds: two passes of the length of a warm-up
  // suffice. The first one alone may include compilation.
  const double whole = std::max(warmup_ns, plan.max_window_ns);
  if (cold.passes == 1 && cold.elapsed_ns >= whole) {
    if (on(sources.clock, source.start(1)->wait()) >= whole) return 1;
  }
  warm_up_again(source, cold.passes, sources, warmup_ns);
  // Calibrate again, because the first calibration was before the warm-up.
  return calibrate(source, sources.clock, plan).passes;
}

}  // namespace metalbench

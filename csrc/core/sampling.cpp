#include "core/sampling.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace metalbench {
namespace {

constexpr std::uint32_t most_passes = 1u << 20;
constexpr std::uint32_t floor_windows = 16;
constexpr double min_ticks = 1000;
// What is too slow for min_pairs may overrun the time limit so many times, to get at least these:
// with fewer there is no 98 % interval of the median.
constexpr double overrun = 4;
constexpr std::uint32_t fewest_pairs = 7;
// The clock is settled when the median of the last windows moves by less than this.
constexpr double settled = 0.01;
constexpr std::size_t settle_window = 8;

// A window long enough for the clock: grown by what the last one lacked, never more than tenfold.
std::uint32_t calibrate(const Window& window, const SamplePlan& plan) {
  const double wanted =
      std::min(std::max(plan.window_ns, min_ticks * plan.tick_ns), plan.max_window_ns);
  std::uint32_t passes = 1;
  while (true) {
    const double elapsed = std::max(window(passes), 1.0);
    if (elapsed >= wanted || passes >= most_passes) return passes;
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

// Ends when the time is up and the medians of two runs of windows agree; never later than 5 x.
void warm_up(const Window& window, std::uint32_t passes, double duration_ns,
             const std::function<double()>& now_ns) {
  const double start = now_ns();
  std::vector<double> seen;
  while (true) {
    seen.push_back(window(passes));
    const double spent = now_ns() - start;
    if (spent < duration_ns && spent >= 0) continue;
    if (spent >= 5 * duration_ns || seen.size() < 2) return;
    const std::size_t n = std::min(settle_window, seen.size() / 2);
    const std::vector<double> last(seen.end() - static_cast<std::ptrdiff_t>(n), seen.end());
    const std::vector<double> before(seen.end() - static_cast<std::ptrdiff_t>(2 * n),
                                     seen.end() - static_cast<std::ptrdiff_t>(n));
    if (std::abs(median(last) / median(before) - 1) < settled) return;
  }
}

}  // namespace

Samples sample(const Sources& sources, const SamplePlan& plan) {
  Samples samples;
  samples.tick_ns = plan.tick_ns;
  const bool paired = static_cast<bool>(sources.reference);
  const double start = sources.now_ns();

  samples.candidate_window = calibrate(sources.candidate, plan);
  warm_up(sources.candidate, samples.candidate_window, plan.warmup_ns, sources.now_ns);
  // Once more: what was calibrated was cold.
  samples.candidate_window = calibrate(sources.candidate, plan);
  if (paired) {
    samples.reference_window = calibrate(sources.reference, plan);
    warm_up(sources.reference, samples.reference_window, plan.warmup_ns / 4, sources.now_ns);
    samples.reference_window = calibrate(sources.reference, plan);
  }
  if (sources.floor) {
    for (std::uint32_t i = 0; i < floor_windows; ++i) {
      samples.floor_ns.push_back(sources.floor(samples.candidate_window) /
                                 samples.candidate_window);
    }
  }

  const auto time_candidate = [&] {
    samples.candidate_ns.push_back(sources.candidate(samples.candidate_window) /
                                   samples.candidate_window);
  };
  const auto time_reference = [&] {
    samples.reference_ns.push_back(sources.reference(samples.reference_window) /
                                   samples.reference_window);
  };
  std::mt19937_64 random(plan.seed);
  for (std::uint32_t pair = 0; pair < plan.max_pairs; ++pair) {
    const double spent = sources.now_ns() - start;
    if (pair >= plan.min_pairs && spent > plan.time_limit_ns) break;
    if (pair >= fewest_pairs && spent > overrun * plan.time_limit_ns) break;
    const bool candidate_first = (random() >> 63) != 0;
    samples.candidate_first.push_back(candidate_first);
    if (candidate_first) time_candidate();
    if (paired) time_reference();
    if (!candidate_first) time_candidate();
    if (sources.progress) sources.progress(pair + 1, plan.max_pairs);
  }
  samples.elapsed_ns = sources.now_ns() - start;
  return samples;
}

}  // namespace metalbench

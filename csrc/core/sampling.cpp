#include "core/sampling.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <utility>

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

// Enough that the GPU, whose clock drops when it has nothing to do, always has the next window.
constexpr std::size_t windows_in_flight = 3;

// The time that samples are made of.
double on(Clock clock, const Timing& timing) {
  return clock == Clock::device ? timing.device_ns : timing.wall_ns;
}

// Windows on their way, the oldest first, and what is to be done with their times.
class Flight {
 public:
  using Landed = std::function<void(const Timing&)>;

  void start(const Source& source, std::uint32_t passes, Landed landed) {
    if (!source.queued) land_all();
    while (windows_.size() >= windows_in_flight) land();
    windows_.push_back({source.start(passes), std::move(landed)});
    if (!source.queued) land_all();
  }

  void land_all() {
    while (!windows_.empty()) land();
  }

 private:
  struct Flying {
    std::unique_ptr<Running> running;
    Landed landed;
  };

  void land() {
    const Flying first = std::move(windows_.front());
    windows_.pop_front();
    first.landed(first.running->wait());
  }

  std::deque<Flying> windows_;
};

double time_of(const Source& source, std::uint32_t passes, Clock clock) {
  return on(clock, source.start(passes)->wait());
}

// A window long enough for the clock: grown by what the last one lacked, never more than tenfold.
std::uint32_t calibrate(const Source& source, Clock clock, const SamplePlan& plan) {
  const double wanted =
      std::min(std::max(plan.window_ns, min_ticks * plan.tick_ns), plan.max_window_ns);
  std::uint32_t passes = 1;
  while (true) {
    const double elapsed = std::max(time_of(source, passes, clock), 1.0);
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

// Whether the medians of the last two runs of windows agree.
bool has_settled(const std::vector<double>& seen) {
  if (seen.size() < 2) return false;
  const auto n = static_cast<std::ptrdiff_t>(std::min(settle_window, seen.size() / 2));
  const std::vector<double> last(seen.end() - n, seen.end());
  const std::vector<double> before(seen.end() - 2 * n, seen.end() - n);
  return std::abs(median(last) / median(before) - 1) < settled;
}

// Ends when the time is up and the windows have settled; never later than 5 x.
void warm_up(const Source& source, std::uint32_t passes, Clock clock, double duration_ns,
             const std::function<double()>& now_ns) {
  const double start = now_ns();
  std::vector<double> seen;
  Flight flight;
  while (true) {
    flight.start(source, passes,
                 [&](const Timing& timing) { seen.push_back(on(clock, timing)); });
    const double spent = now_ns() - start;
    const bool enough = spent >= duration_ns || spent < 0;
    if (enough && (spent >= 5 * duration_ns || has_settled(seen))) break;
  }
  flight.land_all();
}

// Calibrates twice, because what was calibrated first was cold.
std::uint32_t prepare(const Source& source, const Sources& sources, const SamplePlan& plan,
                      double warmup_ns) {
  const std::uint32_t passes = calibrate(source, sources.clock, plan);
  warm_up(source, passes, sources.clock, warmup_ns, sources.now_ns);
  return calibrate(source, sources.clock, plan);
}

void record(Samples& samples, const Timing& timing) {
  const double passes = samples.candidate_window;
  samples.candidate_ns.push_back(on(samples.clock, timing) / passes);
  samples.device_ns.push_back(timing.device_ns / passes);
  samples.counter_ns.push_back(timing.counter_ns / passes);
  samples.wall_ns.push_back(timing.wall_ns / passes);
  samples.encode_ns.push_back(timing.encode_ns);
}

void time_floor(const Source& floor, Samples& samples) {
  Flight flight;
  for (std::uint32_t i = 0; i < floor_windows; ++i) {
    flight.start(floor, samples.candidate_window, [&](const Timing& timing) {
      samples.floor_ns.push_back(on(samples.clock, timing) / samples.candidate_window);
    });
  }
  flight.land_all();
}

bool out_of_time(std::uint32_t pairs, double spent, const SamplePlan& plan) {
  return (pairs >= plan.min_pairs && spent > plan.time_limit_ns) ||
         (pairs >= fewest_pairs && spent > overrun * plan.time_limit_ns);
}

}  // namespace

Samples sample(const Sources& sources, const SamplePlan& plan) {
  Samples samples;
  samples.tick_ns = plan.tick_ns;
  samples.clock = sources.clock;
  const double start = sources.now_ns();

  samples.candidate_window = prepare(sources.candidate, sources, plan, plan.warmup_ns);
  if (sources.reference) {
    samples.reference_window = prepare(sources.reference, sources, plan, plan.warmup_ns / 4);
  }
  if (sources.floor) time_floor(sources.floor, samples);

  Flight flight;
  const auto time_candidate = [&] {
    flight.start(sources.candidate, samples.candidate_window,
                 [&](const Timing& timing) { record(samples, timing); });
  };
  const auto time_reference = [&] {
    flight.start(sources.reference, samples.reference_window, [&](const Timing& timing) {
      samples.reference_ns.push_back(on(samples.clock, timing) / samples.reference_window);
    });
  };
  std::mt19937_64 random(plan.seed);
  for (std::uint32_t pair = 0; pair < plan.max_pairs; ++pair) {
    if (out_of_time(pair, sources.now_ns() - start, plan)) break;
    const bool candidate_first = (random() >> 63) != 0;
    samples.candidate_first.push_back(candidate_first);
    if (candidate_first) time_candidate();
    if (sources.reference) time_reference();
    if (!candidate_first) time_candidate();
    if (sources.progress) sources.progress(pair + 1, plan.max_pairs);
  }
  flight.land_all();
  samples.elapsed_ns = sources.now_ns() - start;
  return samples;
}

}  // namespace metalbench

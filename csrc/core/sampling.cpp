#include "core/sampling.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/warmup.h"

namespace metalbench {
namespace {

constexpr std::uint32_t floor_windows = 16;
// Work that is too slow for min_pairs may overrun the time limit by this factor to get the fewest
// pairs: below 7 there is no 98 % confidence interval of the median.
constexpr double overrun = 4;
constexpr std::uint32_t fewest_pairs = 7;
constexpr std::uint32_t long_factor = 4;
// The fastest of these counts: the clock determines it, and other load only adds time.
constexpr int probe_windows = 3;

template <typename T>
void truncate(std::vector<T>& values, std::size_t size) {
  if (values.size() > size) values.resize(size);
}

class Sampling {
 public:
  Sampling(const WindowSources& sources, const SamplePlan& plan)
      : sources_(sources), plan_(plan), random_(plan.seed), start_(sources.now_ns()) {
    samples_.tick_ns = plan.tick_ns;
    samples_.clock = sources.clock;
    samples_.best_probe_ns = plan.best_probe_ns;
  }

  Samples run() {
    // The reference first, because it determines the limit of the candidate's command buffers.
    double warmup_ns = plan_.warmup_ns;
    if (sources_.reference) {
      samples_.reference_window = ready(sources_.reference, plan_.reference_window, warmup_ns);
      warmup_ns /= 4;
    }
    limit_command_buffers();
    samples_.candidate_window = ready(sources_.candidate, plan_.candidate_window, warmup_ns);
    for (std::uint32_t i = 0; plan_.candidate_window == 0 && i < floor_windows; ++i) {
      time(sources_.floor, samples_.candidate_window, plan_.candidate_repeats, samples_.floor);
    }
    queue_.complete_all();
    take_pairs();
    for (std::uint32_t i = 0; !samples_.throttled && i < plan_.long_windows; ++i) take_long_pair();
    queue_.complete_all();
    if (command_buffers_ > 0) {
      samples_.reference_passes_per_command_buffer = passes_in_them_ / command_buffers_;
    }
    samples_.elapsed_ns = sources_.now_ns() - start_;
    return std::move(samples_);
  }

 private:
  [[nodiscard]] std::uint32_t taken() const {
    return static_cast<std::uint32_t>(samples_.candidate_first.size());
  }

  // Warm a source up and return the passes of its windows: `known`, unless that is 0.
  [[nodiscard]] std::uint32_t ready(const WindowSource& source, std::uint32_t known,
                                    double warmup_ns) {
    if (known == 0) return warm_up(source, sources_, plan_, warmup_ns);
    if (warmup_ns > 0) warm_up_again(source, known, sources_, warmup_ns);
    return known;
  }

  // Limit the candidate's command buffers to the mean number of passes in the reference's. If both
  // sides are dispatches, the device chooses.
  void limit_command_buffers() {
    std::uint32_t most = plan_.passes_per_command_buffer;
    if (most == 0 && sources_.reference && !sources_.reference.queued) {
      const std::uint32_t passes = samples_.reference_window;
      const std::uint32_t counted = sources_.reference.start(passes)->wait().command_buffers;
      if (counted > 0) {
        const double each = double{1} * passes * plan_.reference_repeats / counted;
        most = static_cast<std::uint32_t>(std::ceil(each / plan_.candidate_repeats));
      }
    }
    samples_.passes_per_command_buffer = most;
    sources_.candidate.passes_per_command_buffer = most;
    sources_.floor.passes_per_command_buffer = most;
  }

  void take_pairs() {
    first_pair_ = sources_.now_ns();
    samples_.warmup_ns = first_pair_ - start_;
    if (sources_.probe) (void)probe();
    while (taken() < plan_.max_pairs && !out_of_time()) {
      take_pair();
      const bool last = taken() == plan_.max_pairs || out_of_time();
      if (sources_.probe && (last || taken() >= good_ + plan_.probe_every) && !check_clock()) break;
      if (sources_.progress) sources_.progress(taken(), plan_.max_pairs);
    }
    queue_.complete_all();
  }

  void take_pair() {
    const bool candidate_first = (random_() >> 63) != 0;
    samples_.candidate_first.push_back(candidate_first);
    if (candidate_first) time_candidate();
    time_reference();
    if (!candidate_first) time_candidate();
  }

  void take_long_pair() {
    time(sources_.candidate, long_factor * samples_.candidate_window, plan_.candidate_repeats,
         samples_.long_candidate);
    probe_once(samples_.probe_after_candidate_ns);
    time(sources_.reference, long_factor * samples_.reference_window, plan_.reference_repeats,
         samples_.long_reference);
    if (sources_.reference) probe_once(samples_.probe_after_reference_ns);
  }

  void time_candidate() {
    time(sources_.candidate, samples_.candidate_window, plan_.candidate_repeats, samples_.candidate,
         [this](const Timing& timing, double passes) {
           samples_.counter_ns.push_back(timing.counter_ns / passes);
           samples_.encode_ns.push_back(timing.encode_ns);
         });
  }

  void time_reference() {
    time(sources_.reference, samples_.reference_window, plan_.reference_repeats, samples_.reference,
         [this](const Timing& timing, double passes) {
           command_buffers_ += timing.command_buffers;
           passes_in_them_ += passes;
         });
  }

  using Noted = std::function<void(const Timing&, double passes)>;

  // Time one window of `window` passes, each of which executes the work `repeats` times.
  void time(const WindowSource& source, std::uint32_t window, std::uint32_t repeats, Times& times,
            Noted noted = {}) {
    if (!source) return;
    const double passes = double{1} * window * repeats;
    queue_.start(source, window, [&times, passes, noted](const Timing& timing) {
      times.device_ns.push_back(timing.device_ns / passes);
      times.wall_ns.push_back(timing.wall_ns / passes);
      if (noted) noted(timing, passes);
    });
    // Wall time of a queued window excludes the submission latency, so complete all windows first.
    if (samples_.clock == Clock::wall) queue_.complete_all();
  }

  // Probe directly after the last window, before a raised clock can fall.
  void probe_once(std::vector<double>& times) {
    queue_.complete_all();
    if (sources_.probe) times.push_back(sources_.probe.start(1)->wait().device_ns);
  }

  // Return whether the clock is as fast as its best.
  bool probe() {
    queue_.complete_all();
    double fastest = 0;
    for (int i = 0; i < probe_windows; ++i) {
      const double taken_ns = sources_.probe.start(1)->wait().device_ns;
      fastest = i == 0 ? taken_ns : std::min(fastest, taken_ns);
    }
    samples_.probe_ns.push_back(fastest);
    const double best = samples_.best_probe_ns;
    samples_.best_probe_ns = best > 0 ? std::min(best, fastest) : fastest;
    if (best > 0 && plan_.probe_drop > 0) {
      if (fastest > best * (1 + plan_.probe_drop)) return false;
      // All samples before this best were throttled, which was not detectable then.
      if (best > fastest * (1 + plan_.probe_drop)) discard_from(0);
    }
    good_ = taken();
    return true;
  }

  // Return false if the clock stays low.
  bool check_clock() {
    while (!probe()) {
      discard_from(good_);
      if (samples_.retries == plan_.retries) {
        samples_.throttled = true;
        return false;
      }
      ++samples_.retries;
      sources_.rest(plan_.cool_ns);
      warm_up_again(sources_.candidate, samples_.candidate_window, sources_, plan_.warmup_ns);
    }
    return true;
  }

  void discard_from(std::uint32_t pair) {
    samples_.discarded += taken() - pair;
    truncate(samples_.candidate_first, pair);
    for (auto* times :
         {&samples_.candidate.device_ns, &samples_.candidate.wall_ns, &samples_.reference.device_ns,
          &samples_.reference.wall_ns, &samples_.counter_ns, &samples_.encode_ns}) {
      truncate(*times, pair);
    }
  }

  [[nodiscard]] bool out_of_time() const {
    const double spent = sources_.now_ns() - first_pair_;
    return (taken() >= plan_.min_pairs && spent > plan_.time_limit_ns) ||
           (taken() >= fewest_pairs && spent > overrun * plan_.time_limit_ns);
  }

  WindowSources sources_;
  const SamplePlan& plan_;
  std::mt19937_64 random_;
  Samples samples_;
  double start_;
  double first_pair_ = 0;
  std::uint32_t good_ = 0;      // pairs at the last good probe
  double command_buffers_ = 0;  // of the reference's windows
  double passes_in_them_ = 0;
  WindowQueue queue_;  // last, because completions use the other members
};

}  // namespace

Samples sample(const WindowSources& sources, const SamplePlan& plan) {
  return Sampling(sources, plan).run();
}

}  // namespace metalbench

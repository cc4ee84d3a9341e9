#include "cpu/queue.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/errors.h"
#include "cpu/launch.h"

namespace metalbench::cpu {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t most_free_bytes = std::size_t{1} << 30;
// The first runs are measured alone, the very first one with new memory; then one in some.
constexpr std::uint64_t first_measurements = 3;
constexpr std::uint64_t measurement_period = 256;
// Waking the workers and waiting for them takes about this long.
constexpr double short_ns = 30e3;
// A launch of at most this time is measured on the calling thread: on a busy machine the workers
// wake late, and short launches would seem long.
constexpr double trial_ns = 300e3;

struct CpuLaunch final : QueuedLaunch {
  std::unique_ptr<Launch> launch;  // null while the launch is pending
  // Time on one thread of its last runs alone: most launches repeat the same work.
  double work_ns = std::numeric_limits<double>::infinity();
  std::uint64_t runs = 0;

  // Other processes make single runs longer.
  void add_run(double ns) { work_ns += (std::min(ns, 2 * work_ns) - work_ns) / 4; }
};

class CpuQueue final : public Queue {
 public:
  CpuQueue(std::shared_ptr<Device> device, ProgramContext context)
      : Queue(most_free_bytes), device_(std::move(device)), context_(std::move(context)) {}

  [[nodiscard]] std::unique_ptr<QueuedLaunch> prepare(Dispatch dispatch) override {
    auto made = std::make_unique<CpuLaunch>();
    made->launch = make_launch(dispatch, context_);
    return made;
  }

  void launch(QueuedLaunch& queued, std::span<const Buffer> buffers) override {
    auto& launch = static_cast<CpuLaunch&>(queued);
    // In a loop the same launch comes again, with other buffers.
    if (launch.launch == nullptr) flush();
    launch.launch->rebind(buffers);
    const std::uint64_t run = launch.runs++;
    if (pending_.empty() && launch.work_ns < longest_here(launch)) {
      run_here(launch);
    } else if (run < first_measurements || run % measurement_period == 0) {
      flush();
      measure(launch);
    } else {
      pending_.push_back(std::move(launch.launch));
      owners_.push_back(&launch);
    }
  }

  void copy(const Buffer& to, const Buffer& from) override {
    flush();
    if (to.size() > 0) std::memcpy(to.bytes().data(), from.bytes().data(), to.size());
  }

  void write(const Buffer& to, const std::byte* from) override {
    flush();
    if (to.size() > 0) std::memcpy(to.bytes().data(), from, to.size());
  }

  void read(std::byte* to, const Buffer& from) override {
    flush();
    if (from.size() > 0) std::memcpy(to, from.bytes().data(), from.size());
  }

  void submit() override {
    flush();
    trim_cache();
  }

  void wait() override { submit(); }

  void discard() override { return_pending(); }

 private:
  [[nodiscard]] std::shared_ptr<Storage> allocate_storage(std::size_t size) override {
    return device_->allocate(size);
  }

  // Workers cannot share a single threadgroup.
  static double longest_here(const CpuLaunch& launch) {
    return launch.launch->groups > 1 ? short_ns : trial_ns;
  }

  // A shorter time than before counts at once: then nothing else has run meanwhile.
  void measure(CpuLaunch& launch) {
    if (launch.work_ns < trial_ns) {
      const SteadyClock::time_point begin = SteadyClock::now();
      run_on_this_thread(launch);
      launch.work_ns = std::min(launch.work_ns, nanoseconds_since(begin));
      return;
    }
    const double elapsed = run_on_workers(std::span(&launch.launch, 1));
    const auto workers = std::min<std::uint64_t>(device_->info().cores, launch.launch->groups);
    launch.work_ns = std::min(launch.work_ns, elapsed * static_cast<double>(workers));
  }

  void run_here(CpuLaunch& launch) {
    const SteadyClock::time_point begin = SteadyClock::now();
    run_on_this_thread(launch);
    launch.add_run(nanoseconds_since(begin));
  }

  void run_on_this_thread(CpuLaunch& launch) {
    const Fault fault = Pool::run_here(launch.launch);
    if (fault) throw KernelFault(describe(*launch.launch, fault, context_));
  }

  static double nanoseconds_since(SteadyClock::time_point begin) {
    return std::chrono::duration<double, std::nano>(SteadyClock::now() - begin).count();
  }

  void flush() {
    if (pending_.empty()) return;
    try {
      (void)run_on_workers(pending_);
    } catch (...) {
      return_pending();
      throw;
    }
    return_pending();
  }

  void return_pending() {
    for (std::size_t i = 0; i < pending_.size(); ++i) owners_[i]->launch = std::move(pending_[i]);
    pending_.clear();
    owners_.clear();
  }

  double run_on_workers(std::span<const std::unique_ptr<Launch>> launches) {
    RunOptions options;
    options.time_limit = time_left();
    options.interrupted = interrupted();
    const Outcome outcome = context_.pool->run(launches, options);
    if (outcome.interrupted) throw Interrupted();
    const Launch& launch = *launches[outcome.launch];
    if (outcome.fault && outcome.fault.kind != Fault::Kind::stopped) {
      throw KernelFault(describe(launch, outcome.fault, context_));
    }
    if (outcome.timed_out) {
      throw TimeLimitExceeded(
          describe_time_limit(launch, outcome.fault, context_, options.time_limit));
    }
    return outcome.elapsed_ns;
  }

  std::shared_ptr<Device> device_;
  ProgramContext context_;
  std::vector<std::unique_ptr<Launch>> pending_;
  std::vector<CpuLaunch*> owners_;  // of the pending launches
};

}  // namespace

std::shared_ptr<Queue> make_queue(std::shared_ptr<Device> device, ProgramContext context) {
  return std::make_shared<CpuQueue>(std::move(device), std::move(context));
}

}  // namespace metalbench::cpu

#include "cpu/pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "cpu/job.h"
#include "cpu/signals.h"
#include "cpu/threadgroups.h"

namespace metalbench::cpu {

namespace {

// Another process finds the threads of kernels by this name; see
// metalbench/sandbox/resources.py.
void name_worker() {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "mb-worker");
#endif
}

}  // namespace

class Pool::Worker {
 public:
  Worker(Pool& pool, std::uint32_t number)
      : pool_(pool), number_(number), thread_([this] { main(); }) {}
  void join() { thread_.join(); }
  void request_stop() { cpu::request_stop(thread_.native_handle()); }

 private:
  void main() {
    name_worker();
    // Python's threads handle the signals of the process.
    sigset_t all;
    sigfillset(&all);
    for (const int ours : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG, SIGSYS}) sigdelset(&all, ours);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const ThreadGuard guard;
    std::uint64_t seen = 0;
    std::unique_lock lock(pool_.mutex_);
    while (true) {
      pool_.wake_.wait(lock, [&] { return pool_.closing_ || pool_.generation_ != seen; });
      if (pool_.closing_) break;
      seen = pool_.generation_;
      Job* job = pool_.job_;
      if (job == nullptr || number_ >= job->participants) continue;
      lock.unlock();
      if (job->participants > 1) pool_.claims_.claim(seen);
      work(*job);
      lock.lock();
      if (--job->running == 0) pool_.done_.notify_all();
    }
  }

  void work(Job& job) {
    job.meet([&] { job.start = Clock::now(); });
    for (std::uint32_t pass = 0; pass < job.passes; ++pass) {
      for (std::size_t i = 0; i < job.launches.size(); ++i) {
        Threadgroups groups(residents_, job, i);
        if (!groups.run()) report(job, i, groups.fault());
        job.meet([&] {
          job.cursor.store(0, std::memory_order_relaxed);
          job.end = Clock::now();
        });
      }
      if (job.aborted.load(std::memory_order_relaxed)) return;
    }
    while (Clock::now() - job.start < job.least) {
    }
  }

  void report(Job& job, std::size_t launch, const Fault& fault) {
    const std::lock_guard lock(pool_.mutex_);
    // Another fault has priority over the stops that it causes.
    if (!job.fault || job.fault.kind == Fault::Kind::stopped) {
      job.fault = fault;
      job.faulty_launch = launch;
    }
    job.aborted = true;
  }

  Pool& pool_;
  std::uint32_t number_;
  Residents residents_;
  std::thread thread_;
};

Pool::Pool(std::uint32_t workers) {
  for (std::uint32_t i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, i));
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (const auto& worker : workers_) worker->join();
}

bool Pool::wait_until_done(Job& job, std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, time, [&] { return job.running == 0; });
}

void Pool::stop_workers() {
  for (const auto& worker : workers_) worker->request_stop();
}

void Pool::hand_out(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++generation_;
  }
  wake_.notify_all();
}

void Pool::occupy(std::chrono::nanoseconds time) {
  const std::lock_guard exclusive(one_job_);
  Job job({}, 0, static_cast<std::uint32_t>(workers_.size()));
  job.least = time;
  hand_out(job);
  while (!wait_until_done(job, time)) {
  }
  const std::lock_guard lock(mutex_);
  job_ = nullptr;
}

Fault Pool::run_here(const std::unique_ptr<Launch>& launch) {
  // The guard refers to the runners until it ends.
  thread_local Residents residents;
  thread_local const ThreadGuard guard;
  thread_local const bool is_ready = (install_signal_handlers(), true);
  (void)guard, (void)is_ready;
  Job job(std::span(&launch, 1), 1, 1);
  Threadgroups groups(residents, job, 0);
  return groups.run() ? Fault{} : groups.fault();
}

Outcome Pool::run(std::span<const std::unique_ptr<Launch>> launches, const RunOptions& options) {
  using namespace std::chrono_literals;
  const std::lock_guard exclusive(one_job_);
  install_signal_handlers();
  // Counted launches run on one worker, so that their order is deterministic.
  const bool is_counted =
      std::ranges::any_of(launches, [](const auto& launch) { return launch->counter != nullptr; });
  const auto workers = is_counted ? 1 : static_cast<std::uint32_t>(workers_.size());
  Job job(launches, options.passes, workers);
  hand_out(job);

  Outcome outcome;
  const Clock::time_point deadline = Clock::now() + options.time_limit;
  while (!wait_until_done(job, 20ms)) {
    if (options.interrupted && options.interrupted()) outcome.interrupted = true;
    if (Clock::now() > deadline) outcome.timed_out = true;
    if (!outcome.interrupted && !outcome.timed_out && !job.aborted) continue;
    job.aborted = true;
    // A worker between two kernels does not see the request; the next iteration repeats it.
    stop_workers();
  }
  const std::lock_guard lock(mutex_);
  job_ = nullptr;
  outcome.elapsed_ns = std::chrono::duration<double, std::nano>(job.end - job.start).count();
  outcome.fault = job.fault;
  outcome.launch = job.faulty_launch;
  return outcome;
}

}  // namespace metalbench::cpu

#include "cpu/threadgroups.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "cpu/job.h"
#include "cpu/signals.h"

namespace metalbench::cpu {
namespace {

// Maximum number of resident threadgroups of 1024 threads per worker: each stack needs two
// mappings, of which Linux permits about 65 000 per process.
constexpr std::size_t most_residents = 16;

// A permutation of `groups` numbers: the first and the last, then numbers far from each other.
class ScatteredOrder {
 public:
  explicit ScatteredOrder(std::uint64_t groups)
      : last_(groups - 1), inner_(groups - 2), step_(inner_ * 618 / 1000) {
    while (std::gcd(step_, inner_) != 1) ++step_;
  }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t index) const {
    if (index < 2) return index * last_;
    return 1 + (index - 2) * step_ % inner_;
  }

 private:
  std::uint64_t last_, inner_, step_;
};

}  // namespace

Threadgroups::Threadgroups(Residents& residents, Pool::Job& job, std::size_t launch)
    : residents_(residents), job_(job), launch_(*job.launches[launch]) {
  // The same for all workers: none begins the next launch before all have ended this one.
  const std::uint32_t round = job_.rounds.load(std::memory_order_relaxed);
  run_ = launch_.shadow == nullptr ? round : launch_.shadow->run_of(round);
  for (const auto& runner : residents_) runner->begin(run_);
}

bool Threadgroups::run() {
  if (launch_.scattered) return run_scattered();
  const std::uint64_t chunk = job_.chunk(launch_);
  while (!job_.aborted.load(std::memory_order_relaxed)) {
    const std::uint64_t first = job_.cursor.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= launch_.groups) return resume_until(0);
    if (!run_chunk(first, std::min(chunk, launch_.groups - first))) return false;
  }
  return true;
}

bool Threadgroups::run_scattered() {
  const ScatteredOrder order(launch_.groups);
  while (!job_.aborted.load(std::memory_order_relaxed)) {
    const std::uint64_t index = job_.cursor.fetch_add(1, std::memory_order_relaxed);
    if (index >= launch_.groups) return resume_until(0);
    if (!run_chunk(order[index], 1)) return false;
  }
  return true;
}

bool Threadgroups::run_chunk(std::uint64_t first, std::uint64_t count) {
  if (launch_.use_span) {
    GroupRunner* runner = idle_runner();
    return settle(runner, runner->run_span(launch_, first, count));
  }
  for (std::uint64_t number = first; number < first + count; ++number) {
    GroupRunner* runner = idle_runner();
    if (!settle(runner, runner->run_group(launch_, number))) return false;
    if (waiting_.size() == most_residents && !resume_until(most_residents - 1)) return false;
  }
  return true;
}

bool Threadgroups::settle(GroupRunner* runner, GroupRunner::Progress progress) {
  if (progress == GroupRunner::Progress::faulty) {
    fault_ = runner->fault();
    if (launch_.findings == nullptr || fault_.kind == Fault::Kind::stopped) return false;
    launch_.findings->add(fault_, launch_.number);
    return true;
  }
  if (progress == GroupRunner::Progress::waiting) waiting_.push_back(runner);
  return true;
}

bool Threadgroups::resume_until(std::size_t most) {
  while (waiting_.size() > most && !job_.aborted.load(std::memory_order_relaxed)) {
    GroupRunner* runner = waiting_.front();
    waiting_.erase(waiting_.begin());
    guard_this_thread(runner);
    if (!settle(runner, runner->resume())) return false;
    // They may wait for a threadgroup of another worker, which may share this core.
    std::this_thread::yield();
  }
  if (waiting_.size() > most) fault_ = waiting_.front()->stopped();
  return !fault_;
}

GroupRunner* Threadgroups::idle_runner() {
  const auto found = std::ranges::find_if(residents_, [&](const auto& runner) {
    return std::ranges::find(waiting_, runner.get()) == waiting_.end();
  });
  if (found == residents_.end()) {
    residents_.push_back(std::make_unique<GroupRunner>());
    residents_.back()->begin(run_);
    guard_this_thread(residents_.back().get());
    return residents_.back().get();
  }
  GroupRunner* runner = found->get();
  runner->clear_fault();
  guard_this_thread(runner);
  return runner;
}

}  // namespace metalbench::cpu

// The workers: one thread a core, which together run lists of launches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/device.h"
#include "cpu/fault.h"
#include "cpu/launch.h"

namespace metalbench::cpu {

struct Outcome {
  double elapsed_ns = 0;
  bool interrupted = false;
  bool timed_out = false;
  Fault fault;             // the first one, if any
  std::size_t launch = 0;  // in which it happened
};

class Pool {
 public:
  explicit Pool(std::uint32_t workers);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs the launches in order, `options.passes` times over. One caller at a time; others wait.
  [[nodiscard]] Outcome run(std::span<const std::unique_ptr<Launch>> launches,
                            const RunOptions& options);
  // Keeps all workers busy for so long, with nothing.
  void occupy(std::chrono::nanoseconds time);

  struct Job;

 private:
  class Worker;

  void hand_out(Job& job);
  void stop_workers();
  [[nodiscard]] bool wait_until_done(Job& job, std::chrono::nanoseconds time);

  std::mutex one_job_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::uint64_t generation_ = 0;
  bool closing_ = false;
  Job* job_ = nullptr;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace metalbench::cpu

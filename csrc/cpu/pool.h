// Thread pool: one worker per core; all of them run lists of launches together.
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
#include "cpu/host.h"
#include "cpu/launch.h"

namespace metalbench::cpu {

struct Outcome {
  double elapsed_ns = 0;
  bool interrupted = false;
  bool timed_out = false;
  Fault fault;             // the first fault, if any
  std::size_t launch = 0;  // index of its launch
};

class Pool {
 public:
  explicit Pool(std::uint32_t workers);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Run the launches in order, `options.passes` times. Concurrent callers wait.
  [[nodiscard]] Outcome run(std::span<const std::unique_ptr<Launch>> launches,
                            const RunOptions& options);
  // Run one launch on the calling thread, without a time limit; return its fault, if any. For
  // launches that take less time than waking the workers. Other jobs may run at the same time.
  [[nodiscard]] static Fault run_here(const std::unique_ptr<Launch>& launch);
  // Keep all workers busy for this time, without work.
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
  CoreClaims claims_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace metalbench::cpu

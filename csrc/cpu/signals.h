// Signal handling: a GPU thread that crashes or does not end is abandoned, and its worker
// continues.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>

#include "cpu/group_runner.h"

namespace metalbench::cpu {

// Gives the calling thread a signal stack, unless it has one, and allows it to be guarded, during
// its lifetime.
class ThreadGuard {
 public:
  ThreadGuard();
  ~ThreadGuard();
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;
};

// From now on, faults and stop requests on the stacks of `runner`'s GPU threads end these threads.
void guard_this_thread(GroupRunner* runner);

// Install our handlers, unless they are installed already (other code such as Python's faulthandler
// may replace them). Signals outside of GPU threads go to the previous handler.
void install_signal_handlers();

// Stop the worker's GPU thread, if one is running at this moment.
void request_stop(pthread_t worker);

}  // namespace metalbench::cpu

// A GPU thread that crashes or never ends is cut off, and its worker goes on.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>

#include "cpu/group_runner.h"

namespace metalbench::cpu {

// While it exists the calling thread has a stack for signal handlers, and can be guarded.
class ThreadGuard {
 public:
  ThreadGuard();
  ~ThreadGuard();
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;
};

// From now on faults and stop requests on the stacks of `runner`'s GPU threads end them.
void guard_this_thread(GroupRunner* runner);

// Takes the signals that guarding needs, unless they are ours already (others may take them too,
// Python's faulthandler for one). What is not a GPU thread's goes to whoever had them before.
void install_signal_handlers();

// Ends what the worker runs, if it is in a kernel at this moment.
void request_stop(pthread_t worker);

}  // namespace metalbench::cpu

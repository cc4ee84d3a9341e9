// What device, storages and programs share: the GPU, its queue, and the order of windows on it.
#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "metal/capabilities.h"
#include "metal/completion.h"
#include "metal/counters.h"
#include "metal/empty_kernel.h"
#include "metal/residency.h"

namespace metalbench::metal {

// Of our queues, by which their command buffers are told from others'.
extern NSString* const queue_label;

// One queue with what orders the windows on it.
struct Lane {
  id<MTLCommandQueue> queue;
  // Each window waits for it and updates it, so that windows never overlap.
  id<MTLFence> fence;

  std::mutex mutex;                  // held from a window's first command until it is committed
  std::shared_ptr<Completion> last;  // of the window committed last; guarded by the mutex

  std::atomic<bool> closed = false;  // after a fault or a hang: nothing new goes here
  std::atomic<bool> hangs = false;   // what is pending may never end
};

class Gpu {
 public:
  Gpu(id<MTLDevice> device, Capabilities capabilities);

  [[nodiscard]] id<MTLDevice> device() const { return device_; }
  [[nodiscard]] const Capabilities& capabilities() const { return capabilities_; }
  [[nodiscard]] const std::shared_ptr<Residency>& residency() const { return residency_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] EmptyKernel& empty_kernel() { return empty_kernel_; }

  // Where windows go now: a new one when the last was closed.
  [[nodiscard]] std::shared_ptr<Lane> lane();
  // Keeps alive what an abandoned window may still write to, until it has ended.
  void keep_until_ended(const std::shared_ptr<Completion>& completion, std::shared_ptr<void> kept);

  // Whether to ask again for Ctrl-C: every 20 ms, over all windows.
  [[nodiscard]] bool poll_is_due();

 private:
  [[nodiscard]] std::shared_ptr<Lane> open_lane();
  void release_ended();

  id<MTLDevice> device_;
  Capabilities capabilities_;
  std::shared_ptr<Residency> residency_;
  Counters counters_;
  EmptyKernel empty_kernel_;
  std::atomic<Clock::time_point> polled_at_;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<Lane> lane_;
  std::list<std::shared_ptr<Completion>> abandoned_;
};

// Throws Error where the device gives no queue.
[[nodiscard]] std::shared_ptr<Gpu> make_gpu(id<MTLDevice> device, Capabilities capabilities);

}  // namespace metalbench::metal

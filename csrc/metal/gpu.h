// State shared by device, storages and programs: the GPU, its queue, and the order of its windows.
#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "metal/built_in_kernel.h"
#include "metal/capabilities.h"
#include "metal/completion.h"
#include "metal/counters.h"
#include "metal/residency.h"

namespace metalbench::metal {

// Label of our queues, which identifies our command buffers.
extern NSString* const queue_label;

// A command queue that executes its windows one after the other.
struct OrderedQueue {
  id<MTLCommandQueue> queue;
  id metal4 = nil;  // MTL4CommandQueue, once a window needs it; guarded by the mutex
  // Each window waits for the fence and updates it, so that windows never overlap.
  id<MTLFence> fence;

  std::mutex mutex;                  // held from a window's first command until its commit
  std::shared_ptr<Completion> last;  // of the last committed window; guarded by the mutex
  bool last_is_metal4 = false;       // guarded by the mutex

  std::atomic<bool> closed = false;  // after a fault or a hang: no new windows
  std::atomic<bool> hangs = false;   // pending windows may never end
};

class Gpu {
 public:
  Gpu(id<MTLDevice> device, Capabilities capabilities);

  [[nodiscard]] id<MTLDevice> device() const { return device_; }
  [[nodiscard]] const Capabilities& capabilities() const { return capabilities_; }
  [[nodiscard]] const std::shared_ptr<Residency>& residency() const { return residency_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] EmptyKernel& empty_kernel() { return empty_kernel_; }
  [[nodiscard]] CopyKernel& copy_kernel() { return copy_kernel_; }

  // Return the queue for new windows: a new one if the last was closed.
  [[nodiscard]] std::shared_ptr<OrderedQueue> ordered_queue();
  // Keep memory alive until an abandoned window has ended, since it may still write there.
  void keep_until_ended(const std::shared_ptr<Completion>& completion, std::shared_ptr<void> kept);

  // Return whether to poll for Ctrl-C: every 20 ms, over all windows.
  [[nodiscard]] bool poll_is_due();

 private:
  [[nodiscard]] std::shared_ptr<OrderedQueue> open_ordered_queue();
  void release_ended();

  id<MTLDevice> device_;
  Capabilities capabilities_;
  std::shared_ptr<Residency> residency_;
  Counters counters_;
  EmptyKernel empty_kernel_;
  CopyKernel copy_kernel_;
  std::atomic<Clock::time_point> polled_at_;
  std::mutex mutex_;  // guards the following members
  std::shared_ptr<OrderedQueue> ordered_queue_;
  std::list<std::shared_ptr<Completion>> abandoned_;
};

// Throws Error if the device does not create a queue.
[[nodiscard]] std::shared_ptr<Gpu> make_gpu(id<MTLDevice> device, Capabilities capabilities);

}  // namespace metalbench::metal
